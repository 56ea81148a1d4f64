// What the agent proposed in this session: each where it stands, and what can be answered to it.
import { WAITING } from "../text/states";
import { Button } from "../ui/Button";
import { ProposalRow } from "./ProposalRow";
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
      <ul aria-label="Proposals" className="mt-1 flex max-h-[50dvh] flex-col gap-2 overflow-y-auto py-1">
        {found.map((one) => (
          <ProposalRow key={one.thread_id} proposal={one} />
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
