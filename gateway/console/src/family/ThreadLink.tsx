// A link to another thread of the console, opened in place; a modified click is left to the browser.
import type { ReactNode } from "react";
import { href, navigate, useRoute } from "../shell/router";

interface Props {
  id: string;
  className?: string;
  /** Underlined only when pointed at: where the place says that it is a link. */
  quiet?: boolean;
  children: ReactNode;
}

export function ThreadLink({ id, className = "", quiet = false, children }: Props) {
  const route = useRoute();
  const target = { ...route, threadId: id };
  return (
    <a
      href={href(target)}
      data-thread-link={id}
      className={`rounded decoration-line-strong underline-offset-4 hover:underline hover:decoration-current ${quiet ? "" : "underline"} ${className}`}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        navigate(target);
      }}
    >
      {children}
    </a>
  );
}
