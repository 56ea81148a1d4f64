// One hoisted action: the whole card opens its host, the buttons inside decide there without opening it.
import { useRef, useState, type KeyboardEvent, type MouseEvent } from "react";
import { badgeOf, offeredOn, onHost, type HoistedVerb } from "../api/hoisted";
import { newKey } from "../api/http";
import type { Action } from "../api/types";
import { useDecide } from "../api/useDecide";
import { openThread } from "../shell/router";
import { wordsOf } from "../text/states";
import { visible } from "../text/visible";
import { Parameters } from "../thread/Parameters";
import { Risk } from "../thread/Proposal";
import { RefusalNotice } from "../thread/RefusalNotice";
import { useSettled } from "../thread/useSettled";
import { Badge } from "./Badge";
import { HoistedDecision } from "./HoistedDecision";

const KEYS: Partial<Record<string, HoistedVerb>> = { a: "accept", r: "redirect_action", d: "dismiss" };

export function HoistedCard({ umbrella, action }: { umbrella: string; action: Action }) {
  const host = action.host_thread_id ?? "";
  const deciding = useDecide(host, umbrella);
  const settledDigest = useSettled(action.proposal_digest);
  const [asking, setAsking] = useState<{ verb: HoistedVerb; digest: string }>();
  // What was asked about another proposal has lost its object.
  const open = asking?.digest === action.proposal_digest ? asking.verb : undefined;
  const card = useRef<HTMLDivElement>(null);
  const verbs = offeredOn(action);
  const title = visible(action.host_title || action.name);

  const enter = (): void => {
    openThread(host);
  };
  const onClick = (event: MouseEvent): void => {
    // Marking a word to copy it is no press.
    if (!event.defaultPrevented && getSelection()?.isCollapsed !== false) enter();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (
      event.target !== event.currentTarget ||
      event.repeat ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    // The keys of a decision, while the card has the focus, are about this action and not about the umbrella.
    const verb = KEYS[event.key];
    if (event.key !== "Enter" && event.key !== " " && verb === undefined) return;
    event.preventDefault();
    if (verb === undefined) enter();
    else if (verbs.includes(verb)) press(verb);
  };
  const close = (): void => {
    setAsking(undefined);
    card.current?.focus();
  };
  const send = (verb: HoistedVerb, feedback?: string): void => {
    close();
    deciding.send(onHost(action, verb, newKey(), feedback));
  };
  const press = (verb: HoistedVerb): void => {
    if (verb === "accept") {
      if (settledDigest) send("accept");
    } else setAsking({ verb, digest: action.proposal_digest });
  };

  return (
    <div
      ref={card}
      role="button"
      tabIndex={0}
      aria-label={`Open ${title}`}
      data-action-card={host}
      data-settled={action.settled === true}
      onClick={onClick}
      onKeyDown={onKeyDown}
      className={`group flex cursor-pointer flex-col gap-3 rounded-lg border p-4 transition-colors max-sm:p-3 ${action.settled ? "border-line bg-sunk text-muted" : "border-line-strong bg-paper hover:border-indigo"}`}
    >
      <div className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <p className="font-medium [overflow-wrap:anywhere]">
            {title}
            <span aria-hidden className="ml-2 text-faint group-hover:text-indigo">
              →
            </span>
          </p>
          <p className="text-sm text-muted [overflow-wrap:anywhere]">
            <code className="font-mono">{visible(action.name)}</code>
            {action.plan_summary ? <> · {visible(action.plan_summary)}</> : null}
          </p>
        </div>
        <Badge text={badgeOf(action) ?? waitingWord(action)} />
      </div>
      {action.settled ? null : (
        <>
          <Parameters parameters={action.parameters ?? {}} />
          {verbs.includes("accept") ? <Risk action={action} /> : null}
        </>
      )}
      {deciding.problem ? (
        <Inner>
          <RefusalNotice deciding={deciding} />
        </Inner>
      ) : null}
      {verbs.length > 0 ? (
        <Inner>
          <HoistedDecision
            verbs={verbs}
            open={open}
            title={title}
            pending={deciding.pending ? deciding.intention?.verb : undefined}
            settled={settledDigest}
            onPress={press}
            onSend={send}
            onClose={close}
          />
        </Inner>
      ) : null}
    </div>
  );
}

/** Where a pending action's host is elsewhere than at the gate, its badge says where. */
function waitingWord(action: Action): string | undefined {
  if (action.host_state === undefined || action.host_state === "awaiting_confirmation") return undefined;
  return wordsOf(action.host_state).label.toLowerCase();
}

/** What happens in here is not a press of the card. */
function Inner({ children }: { children: React.ReactNode }) {
  return (
    <div
      className="cursor-auto"
      onClick={(event) => {
        event.stopPropagation();
      }}
    >
      {children}
    </div>
  );
}
