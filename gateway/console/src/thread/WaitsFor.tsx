// Explain: what the thread waits for, since when, and what would move it.
import { WaitedFor } from "../family/WaitedFor";
import { useExplanation } from "../api/queries";
import { Ago } from "../ui/Ago";

const NAMES: Partial<Record<string, string>> = {
  accept: "approve",
  redirect_action: "redirect",
  set_action_proposal: "pick an action",
  later: "snooze",
  hand_off: "hand off",
  accept_review: "accept result",
  retry_cleanup: "clean up again",
  accept_cleanup_failure: "leave it as it is",
  cleanup: "clean up",
};

export function WaitsFor({ id }: { id: string }) {
  const { data } = useExplanation(id);
  if (!data?.summary) return null;
  const moves = [...new Set((data.moves ?? []).map((move) => NAMES[move] ?? move.replaceAll("_", " ")))];
  return (
    <section aria-label="Explanation" className="text-sm text-muted">
      <p className="[overflow-wrap:anywhere]">
        {/* The sentence names children too, but cannot link to them. */}
        {(data.waits_for ?? []).length > 0 ? <WaitedFor explanation={data} /> : data.summary}
        {data.since_time ? (
          <>
            {" "}
            <span className="text-faint">
              · <Ago time={data.since_time} long />
            </span>
          </>
        ) : null}
        {data.timer_time ? (
          <>
            {" "}
            <span className="text-faint">
              · moves by itself <Ago time={data.timer_time} ahead />
            </span>
          </>
        ) : null}
      </p>
      {moves.length > 0 ? <p className="mt-1 text-faint">What would move it: {moves.join(", ")}.</p> : null}
    </section>
  );
}
