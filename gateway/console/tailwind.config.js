/** Colours are tokens (src/index.css) so that dark and light differ in one place; spacing is Tailwind's concrete scale. */
const token = (name) => `rgb(var(--${name}) / <alpha-value>)`;

/** @type {import('tailwindcss').Config} */
export default {
  content: ["./index.html", "./src/**/*.{ts,tsx}"],
  darkMode: "media",
  theme: {
    colors: {
      transparent: "transparent",
      current: "currentColor",
      paper: token("paper"),
      raised: token("raised"),
      sunk: token("sunk"),
      line: token("line"),
      "line-strong": token("line-strong"),
      ink: token("ink"),
      muted: token("muted"),
      faint: token("faint"),
      indigo: token("indigo"),
      "indigo-ink": token("indigo-ink"),
      "indigo-wash": token("indigo-wash"),
      weld: token("weld"),
      "weld-wash": token("weld-wash"),
      moss: token("moss"),
      "moss-wash": token("moss-wash"),
      madder: token("madder"),
      "madder-wash": token("madder-wash"),
    },
    fontFamily: {
      sans: ['"Inter Variable"', "ui-sans-serif", "system-ui", "sans-serif"],
      serif: ['"Newsreader Variable"', "ui-serif", "Georgia", "serif"],
      mono: ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", '"Liberation Mono"', "monospace"],
    },
    fontSize: {
      xs: ["11px", { lineHeight: "16px", letterSpacing: "0.005em" }],
      sm: ["12.5px", { lineHeight: "18px" }],
      base: ["14px", { lineHeight: "21px" }],
      lg: ["16px", { lineHeight: "24px" }],
      xl: ["20px", { lineHeight: "27px" }],
      title: ["27px", { lineHeight: "33px", letterSpacing: "-0.012em" }],
    },
    extend: {},
  },
  plugins: [
    /** Little height is left: a zoomed page, a phone on its side. */
    ({ addVariant }) => {
      addVariant("short", "@media (max-height: 30rem)");
    },
  ],
};
