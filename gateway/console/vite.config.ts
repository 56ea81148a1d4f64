// Build and dev server. Everything is emitted as a file with a hashed name: the gateway's CSP forbids inline
// scripts, styles and data: fonts, so nothing may be inlined (assetsInlineLimit 0, no module-preload polyfill).
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const gateway = process.env["TREADLE_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
  },
  server: { host: "127.0.0.1", proxy: { "/api": gateway, "/auth": gateway } },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
