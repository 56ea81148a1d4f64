// The open children that an umbrella waits for, by name, each with where it stands.
import { useOpenChildren } from "../api/families";
import type { Thread } from "../api/types";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { ThreadLink } from "./ThreadLink";

export function OpenChildren({ thread }: { thread: Thread }) {
  const open = thread.open_children ?? 0;
  const { data } = useOpenChildren(thread.id, open > 0);
  const named = [...(data?.threads ?? [])].sort((a, b) => (a.ordinal ?? 0) - (b.ordinal ?? 0));
  if (open === 0 || named.length === 0) return null;
  return (
    <p className="mt-1 [overflow-wrap:anywhere]">
      Waits for{" "}
      {named.map((child, index) => (
        <span key={child.id}>
          {index > 0 ? ", " : ""}
          <ThreadLink id={child.id} className="text-ink">
            {visible(child.title)}
          </ThreadLink>{" "}
          ({wordsOf(child.state).label.toLowerCase()})
        </span>
      ))}
      {open > named.length ? ` and ${open - named.length} more` : ""}.
    </p>
  );
}
