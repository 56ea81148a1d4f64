// A link to a session's page that does not load the console anew.
import type { ReactNode } from "react";
import { go } from "../shell/router";
import { LOOKS } from "../ui/Button";
import { sessionUrl } from "./path";

interface Props {
  id: string;
  label?: string;
  plain?: boolean;
  children: ReactNode;
}

export function SessionLink({ id, label, plain = false, children }: Props) {
  const url = sessionUrl(id);
  return (
    <a
      href={url}
      aria-label={label === undefined ? undefined : `${label}: ${textOf(children)}`}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(url);
      }}
      className={
        plain
          ? "text-indigo underline underline-offset-2"
          : `inline-flex min-h-8 items-center rounded-md px-2 text-sm transition-colors max-lg:min-h-10 ${LOOKS.bare}`
      }
    >
      {children}
    </a>
  );
}

function textOf(children: ReactNode): string {
  return typeof children === "string" ? children : "";
}
