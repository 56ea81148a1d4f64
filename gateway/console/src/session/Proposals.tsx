// What the agent proposed in this session: each where it stands, and the way to the thread where a person decides.
import { ThreadLink } from "../family/ThreadLink";
import { WAITING } from "../text/states";
import { visible } from "../text/visible";
import { Ago } from "../ui/Ago";
import { Button } from "../ui/Button";
import { StateChip } from "../ui/State";
import { useProposals } from "./proposed";

export function Proposals({ session }: { session: string }) {
  const query = useProposals(session);
  const found = query.data?.pages.flatMap((page) => page.proposals ?? []) ?? [];
  if (found.length === 0) return null;
  const waiting = found.filter(({ state }) => WAITING.includes(state)).length;
  return (
    <details
      data-proposals={found.length}
      className="border-b border-line bg-sunk px-8 py-2 text-sm max-lg:px-4"
    >
      <summary className="cursor-pointer">
        {waiting === 0 ? (
          <span className="text-muted">Proposals: none waits for you</span>
        ) : (
          <span className="font-medium text-weld">
            Proposals: {waiting} {waiting === 1 ? "waits" : "wait"} for you
          </span>
        )}
      </summary>
      <ul aria-label="Proposals" className="mt-1 flex max-h-40 flex-col gap-1 overflow-y-auto py-1">
        {found.map((one) => (
          <li key={one.thread_id} data-proposal={one.thread_id} className="flex items-baseline gap-2">
            <StateChip state={one.state} />
            <ThreadLink id={one.thread_id} className="min-w-0 flex-1 [overflow-wrap:anywhere]">
              {visible(one.title)}
            </ThreadLink>
            <code className="font-mono text-xs text-muted max-sm:hidden">
              {visible(one.capability_name ?? "")}
            </code>
            <Ago time={one.create_time} className="text-xs text-faint" />
          </li>
        ))}
      </ul>
      {query.hasNextPage ? (
        <Button look="bare" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          {query.isFetchingNextPage ? "Reading…" : "Show more"}
        </Button>
      ) : null}
    </details>
  );
}
