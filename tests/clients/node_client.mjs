// npm `eventsource` on one stream: a line of JSON for each event, until one holds the end mark.
import { EventSource } from "eventsource";

const [url, names, end] = process.argv.slice(2);
const source = new EventSource(url);
for (const name of JSON.parse(names)) {
  source.addEventListener(name, (event) => {
    process.stdout.write(JSON.stringify([event.lastEventId, event.type, event.data]) + "\n");
    if (event.data.includes(end)) source.close();
  });
}
source.addEventListener("error", (event) => {
  if (source.readyState === source.CLOSED) {
    process.stderr.write(`given up: ${event.code} ${event.message}\n`);
    process.exitCode = 1;
  }
});
