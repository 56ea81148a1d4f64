// Which key a keyboard event means, if it is ours at all. Pure; the stack of layers lives in useKeys.ts.

export interface Stroke {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  repeat: boolean;
  isComposing: boolean;
  defaultPrevented: boolean;
  /** Where the focus is: tag and whether it takes text. */
  target: Focus;
}

export interface Focus {
  tag: string;
  editable: boolean;
  /** A button, link, summary or select: Enter belongs to it. */
  pressable: boolean;
}

/** Keys that may be held down; all others count once a press, so that a held key never decides twice. */
const HOLDABLE = new Set(["j", "k", "J", "K"]);

export function meaning(stroke: Stroke): string | undefined {
  if (stroke.defaultPrevented || stroke.isComposing) return undefined;
  if (stroke.ctrlKey || stroke.metaKey || stroke.altKey) return undefined;
  if (stroke.target.editable) return undefined;
  if (stroke.key === "Enter" && stroke.target.pressable) return undefined;
  if (stroke.target.tag === "SELECT") return undefined;
  if (stroke.repeat && !HOLDABLE.has(stroke.key)) return undefined;
  return stroke.key;
}

export type Bindings = Readonly<Record<string, (() => void) | undefined>>;

/** The first layer from the top that binds the key. */
export function resolve(layers: readonly Bindings[], key: string): (() => void) | undefined {
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    const action = layers[index]?.[key];
    if (action) return action;
  }
  return undefined;
}
