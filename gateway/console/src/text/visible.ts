// Makes visible what could deceive a reader who approves: control, zero-width and direction-changing characters are
// shown as ⟨U+202E⟩ instead of acting. Ordinary spaces, tabs and line ends stay, and joiners where writing needs them: inside
// an emoji, between letters of scripts that join.

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|[\u{e0000}-\u{e007f}]/gu;

/** U+200D inside an emoji; U+200C and U+200D between letters that join (Persian, Indic scripts). */
const NEEDED =
  /(?<=[\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}])\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Malayalam}\p{Script=Sinhala}\p{M}])[\u200c\u200d](?=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Malayalam}\p{Script=Sinhala}])/gu;

export function visible(text: string): string {
  const needed = new Set(Array.from(text.matchAll(NEEDED), ({ index }) => index));
  return text.replace(HIDDEN, (char, at: number) => {
    if (char === "\r" && text[at + 1] === "\n") return "";
    if (needed.has(at)) return char;
    const code = char.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
