// The keys, on one card.
import { Button, Key } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

const GROUPS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Move",
    [
      ["j", "Next thread"],
      ["k", "Previous thread"],
      ["Enter", "Open it"],
      ["Esc", "Back, or close what is open"],
      ["g", "Switch between inbox and all threads"],
    ],
  ],
  [
    "Decide",
    [
      ["a", "Approve, confirm, accept"],
      ["e", "Edit before approving"],
      ["r", "Redirect with feedback, or answer"],
      ["x", "Reject the action"],
      ["d", "Dismiss the thread (asks first)"],
      ["s", "Snooze"],
      ["p", "Pick an action"],
      ["h", "Hand off to somebody"],
      ["t", "Rename"],
      ["c", "Clean up the source"],
    ],
  ],
  [
    "Several in the list",
    [
      ["Space", "Select the row, or leave it out"],
      ["Esc", "Select none"],
    ],
  ],
  [
    "Actions on an umbrella's card",
    [
      ["J K", "Next, previous action"],
      ["Enter", "Open its thread"],
      ["a r d", "Approve, redirect, dismiss that one"],
    ],
  ],
  [
    "Groups of items",
    [
      ["J K", "Next, previous item"],
      ["← →", "Group before, after"],
      ["x", "Select (also Ctrl or Shift + click)"],
      ["m", "Move what is selected"],
      ["a", "Approve all groups"],
      ["Esc", "Select none"],
    ],
  ],
  [
    "Sessions",
    [
      ["i", "Write to the agent"],
      ["g", "To the agent's question"],
      ["v", "Activity: show, hide"],
      ["w", "Workers: show, hide"],
      ["p", "Plan: show, hide"],
      ["u", "Resume"],
      ["Space", "Select the session in the list"],
    ],
  ],
  [
    "Steps of a plan",
    [
      ["↑ ↓", "Step before, after"],
      ["Alt ↑↓", "Move it, with all under it"],
      ["Alt → ←", "Move it in, out"],
      ["Space", "Done, or not"],
      ["Enter", "Edit"],
      ["Del", "Remove"],
      ["Ctrl Z", "Take back the last change"],
    ],
  ],
  [
    "Anywhere",
    [
      ["1 2", "Threads, sessions"],
      ["/", "Search"],
      ["n", "New thread, new session"],
      ["?", "This card"],
    ],
  ],
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
        {GROUPS.map(([name, rows]) => (
          <section key={name}>
            <h3 className="eyebrow mb-2">{name}</h3>
            <dl className="flex flex-col gap-1">
              {rows.map(([key, meaning]) => (
                <div key={key} className="flex items-baseline gap-3">
                  <dt className="w-14 shrink-0 whitespace-nowrap">
                    <Key>{key}</Key>
                  </dt>
                  <dd className="text-sm">{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="text-sm text-muted">Keys rest while you type in a field; Ctrl + Enter sends a form.</p>
      <div className="flex justify-end">
        <Button onClick={onClose} data-autofocus hint="Esc">
          Close
        </Button>
      </div>
    </Dialog>
  );
}
