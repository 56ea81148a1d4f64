// Composition: the query client, the live feed, the console.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/newsreader/wght.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./api/http";
import "./index.css";
import { Door } from "./door/Door";
import { Live } from "./live/Live";
import { App } from "./shell/App";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // The feed says what is stale; time and focus do not.
      staleTime: Infinity,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: (count, error) => error instanceof Problem && error.retryable && count < 3,
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Door>
          <Live>
            <App />
          </Live>
        </Door>
      </QueryClientProvider>
    </StrictMode>,
  );
}
