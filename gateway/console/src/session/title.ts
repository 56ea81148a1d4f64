// What a session is called where nobody named it. Pure.

export function titleOf({ title, adapter, id }: { title: string; adapter: string; id: string }): string {
  return title.trim() === "" ? `Untitled ${adapter} session ${id.slice(-4)}` : title;
}
