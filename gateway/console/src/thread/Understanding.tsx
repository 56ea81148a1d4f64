// What the agent believes (intent, context) and what came with the matter (context items).
import type { ContextItem, Thread } from "../api/types";
import { visible } from "../text/visible";
import { Value } from "./Parameters";
import { percent } from "./Proposal";

export function Understanding({ thread }: { thread: Thread }) {
  const { intent, context } = thread;
  // Until something is inferred the intent is the description or the title, which stands above already.
  const known = [thread.description, thread.title];
  const inferred = intent?.text && (intent.confidence !== undefined || !known.includes(intent.text));
  const items = thread.context_items ?? [];
  if (!inferred && !context?.text && items.length === 0) return null;
  return (
    <section aria-label="Understanding" className="flex flex-col gap-5">
      {inferred ? <Belief name="Intent" text={intent.text ?? ""} confidence={intent.confidence} /> : null}
      {context?.text ? <Belief name="Context" text={context.text} confidence={context.confidence} /> : null}
      {items.length > 0 ? (
        <div>
          <h2 className="eyebrow mb-2">Came with it</h2>
          <ol className="flex flex-col rounded-md border border-line">
            {items.map((item) => (
              <Item key={item.id} item={item} />
            ))}
          </ol>
        </div>
      ) : null}
    </section>
  );
}

function Belief({ name, text, confidence }: { name: string; text: string; confidence: number | undefined }) {
  return (
    <div>
      <h2 className="eyebrow mb-1">
        {name}
        {confidence === undefined ? null : (
          <span className="normal-case tracking-normal" title="How sure the model is">
            {" "}
            · {percent(confidence)}
          </span>
        )}
      </h2>
      <p className="max-w-prose whitespace-pre-wrap [overflow-wrap:anywhere]">{visible(text)}</p>
    </div>
  );
}

function Item({ item }: { item: ContextItem }) {
  const kind = [item.source, item.type].filter(Boolean).join(" / ");
  const label = visible(item.label || item.id);
  const head = (
    <>
      <span className="w-4 shrink-0 text-right text-xs tabular-nums text-faint">{item.display_index}</span>
      <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{label}</span>
      <span className="font-mono text-xs text-faint">{kind}</span>
    </>
  );
  const { payload } = item;
  if (payload === undefined || payload === null) {
    return (
      <li className="flex items-baseline gap-3 border-b border-line px-3 py-2 last:border-b-0">{head}</li>
    );
  }
  return (
    <li className="border-b border-line last:border-b-0">
      <details>
        <summary className="flex cursor-pointer list-none items-baseline gap-3 px-3 py-2 hover:bg-sunk">
          {head}
        </summary>
        <div className="border-t border-line bg-sunk px-3 py-2">
          <Value value={payload} label={item.label || item.id} />
        </div>
      </details>
    </li>
  );
}
