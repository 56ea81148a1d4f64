// One step: handle, number, whether it is done, its words, and a menu with everything that can be done with it.
import { useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { visible } from "../text/visible";
import { Menu } from "../ui/Menu";
import { leavesUnder, levelOf, type Way, type Zone } from "./tree";
import type { Step } from "./types";

interface Props {
  steps: readonly Step[];
  at: number;
  editing: boolean;
  /** It, or one above it, is in the hand. */
  held: boolean;
  dragging: boolean;
  /** Where a drop would put what is in the hand. */
  zone: Zone | undefined;
  onGrab: (event: PointerEvent) => void;
  onKey: (event: KeyboardEvent) => void;
  onMove: (way: Way) => void;
  canMove: (way: Way) => boolean;
  onToggle: (done: boolean) => void;
  onEdit: () => void;
  onEdited: (text: string) => Promise<void>;
  onLeave: () => void;
  onAdd: () => void;
  onRemove: () => void;
}

const ZONES: readonly Zone[] = ["before", "under", "after"];
/** Deeper levels are not drawn further in: the number tells. */
const DRAWN_LEVELS = 6;
const INDENT = 12;

const MOVES: readonly { way: Way; label: string; hint: string }[] = [
  { way: "up", label: "Move up", hint: "Alt ↑" },
  { way: "down", label: "Move down", hint: "Alt ↓" },
  { way: "in", label: "Move under the one above", hint: "Alt →" },
  { way: "out", label: "Move out", hint: "Alt ←" },
];

export function StepRow(props: Props) {
  const { steps, at, zone } = props;
  const step = steps[at];
  if (!step) return null;
  const under = leavesUnder(steps, at);
  const done = step.leaf ? step.done : under.all > 0 && under.done === under.all;
  const indent = Math.min(levelOf(step), DRAWN_LEVELS) * INDENT;
  return (
    <li className={`relative ${props.held ? "opacity-40" : ""}`}>
      {zone === "before" ? <Line at="top-0" indent={indent} /> : null}
      {zone === "after" ? <Line at="bottom-0" indent={indent} /> : null}
      <div
        role="group"
        aria-label={`Step ${step.number}`}
        tabIndex={0}
        data-step={step.id}
        data-number={step.number}
        data-done={done}
        onKeyDown={(event) => {
          if (event.target === event.currentTarget) props.onKey(event);
        }}
        style={{ paddingLeft: `${String(indent)}px` }}
        className={`group flex items-start gap-2 rounded py-1 pr-1 -outline-offset-2 hover:bg-sunk focus-visible:-outline-offset-2 ${zone === "under" ? "bg-indigo-wash" : ""}`}
      >
        <span
          aria-hidden
          title="Drag to move it with all under it"
          onPointerDown={props.onGrab}
          className="w-3 shrink-0 cursor-grab leading-5 touch-none select-none text-center text-faint opacity-40 group-hover:opacity-100 [@media(hover:none)]:hidden"
        >
          ⠿
        </span>
        {step.leaf ? (
          <input
            type="checkbox"
            aria-label={`${step.number} ${step.text}`}
            checked={step.done}
            className="mt-0.5 size-4 shrink-0 accent-indigo max-lg:size-5"
            onChange={(event) => {
              props.onToggle(event.target.checked);
            }}
          />
        ) : null}
        {props.editing ? (
          <EditStep step={step} onEdited={props.onEdited} onLeave={props.onLeave} />
        ) : (
          <span onDoubleClick={props.onEdit} className="min-w-0 flex-1 text-sm leading-5">
            <span className="mr-2 font-mono text-xs text-faint [overflow-wrap:anywhere]">{step.number}</span>{" "}
            <bdi
              className={`whitespace-pre-wrap [overflow-wrap:anywhere] ${done ? "text-faint line-through" : ""}`}
            >
              {visible(step.text)}
            </bdi>
            {step.leaf ? null : (
              <span className="ml-2 text-xs text-faint">
                {under.done}/{under.all}
              </span>
            )}
          </span>
        )}
        <Menu
          label={`What to do with step ${step.number}`}
          className="shrink-0 rounded px-1.5 leading-5 text-faint hover:bg-line hover:text-ink max-lg:px-3"
          choices={[
            { id: "edit", label: "Edit", hint: "Enter", onPick: props.onEdit },
            { id: "add", label: "Add steps below it", onPick: props.onAdd },
            ...MOVES.filter(({ way }) => props.canMove(way)).map(({ way, label, hint }, index) => ({
              id: way,
              label,
              hint,
              apart: index === 0,
              onPick: () => {
                props.onMove(way);
              },
            })),
            {
              id: "remove",
              label: under.all > 0 ? "Remove with all under it…" : "Remove",
              hint: "Del",
              apart: true,
              onPick: props.onRemove,
            },
          ]}
        >
          ⋯
        </Menu>
      </div>
      {props.dragging && !props.held ? (
        <div className="absolute inset-0 flex flex-col">
          {ZONES.map((name) => (
            <span key={name} data-drop={`${step.id}:${name}`} className="flex-1" />
          ))}
        </div>
      ) : null}
    </li>
  );
}

function Line({ at, indent }: { at: string; indent: number }) {
  return (
    <span
      aria-hidden
      style={{ left: `${String(indent)}px` }}
      className={`absolute right-0 h-0.5 bg-indigo ${at}`}
    />
  );
}

interface EditProps {
  step: Step;
  onEdited: (text: string) => Promise<void>;
  onLeave: () => void;
}

function EditStep({ step, onEdited, onLeave }: EditProps) {
  const [text, setText] = useState(step.text);
  /** Leaving the page takes the focus too: that is no saving. */
  const left = useRef(false);
  const save = (): void => {
    if (left.current || text.trim() === "") return;
    left.current = true;
    void onEdited(text.trim()).finally(() => {
      left.current = false;
    });
  };
  return (
    <textarea
      aria-label={`Text of step ${step.number}`}
      title="Enter saves, Escape leaves it"
      autoFocus
      rows={1}
      className="field min-w-0 flex-1 resize-none !px-2 !py-0.5 !text-sm [field-sizing:content]"
      value={text}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          left.current = true;
          onLeave();
        } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
          event.preventDefault();
          save();
        }
      }}
      onChange={(event) => {
        setText(event.target.value);
      }}
    />
  );
}
