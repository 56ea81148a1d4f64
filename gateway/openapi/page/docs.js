// Shows /openapi.json. Text only ever becomes text nodes; nothing is fetched from elsewhere.
"use strict";

const el = (tag, props = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};

const typeOf = (schema) => {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `${typeOf(schema.items)}[]`;
  if (schema.additionalProperties && schema.type === "object") return `{string: ${typeOf(schema.additionalProperties)}}`;
  return schema.format || schema.type || "any JSON";
};

const refOf = (schema) => schema.$ref || (schema.items && refOf(schema.items)) ||
  (schema.additionalProperties && refOf(schema.additionalProperties)) || "";

const row = (name, kind, text) =>
  el("tr", {}, el("td", {}, el("code", { textContent: name })), el("td", {}, kind), el("td", { textContent: text || "" }));

// A type by its name; where it is one of ours it unfolds, and is filled only then: types contain one another.
const kindOf = (doc, schema) => {
  const ref = refOf(schema);
  if (!ref) return typeOf(schema);
  const details = el("details", { className: "type" }, el("summary", { textContent: typeOf(schema) }));
  details.addEventListener("toggle", () => details.append(schemaTable(doc, { $ref: ref })), { once: true });
  return details;
};

const membersTable = (doc, members, required = new Set()) =>
  el("table", {}, ...Object.entries(members).map(([name, member]) =>
    row(required.has(name) ? `${name} *` : name, kindOf(doc, member), member.description)));

const schemaTable = (doc, schema) => {
  const found = schema.$ref ? doc.components.schemas[schema.$ref.split("/").pop()] : schema;
  if (found.enum) return el("p", { className: "text", textContent: `One of ${found.enum.join(", ")}. ${found.description || ""}` });
  if (Object.keys(found.properties || {}).length) return membersTable(doc, found.properties, new Set(found.required || []));
  return el("p", { className: "text", textContent: found.description || "any" });
};

const section = (title, body) => el("section", {}, el("h4", { textContent: title }), body);

const operation = (doc, path, verb, op) => {
  const box = el("div");
  box.append(el("p", { textContent: op.description || "" }));
  if (op.parameters.length) {
    const rows = op.parameters.map((p) => row(p.required ? `${p.name} *` : p.name, el("span", {}, `${p.in} · `, kindOf(doc, p.schema)), p.description));
    box.append(section("Parameters", el("table", {}, ...rows)));
  }
  if (op.requestBody) box.append(section("Body", schemaTable(doc, op.requestBody.content["application/json"].schema)));
  const [kind, answer] = Object.entries(op.responses["200"].content)[0];
  const events = answer["x-events"];
  if (events) box.append(section(`200 · ${kind}: events by name, and their data`, membersTable(doc, events)));
  else box.append(section(`200 · ${kind}`, schemaTable(doc, answer.schema)));
  const refusals = Object.entries(op.responses).filter(([status]) => status !== "200");
  box.append(section("Refusals", el("table", {}, ...refusals.map(([status, r]) => row(status, "", r.description)))));
  const head = el("summary", {},
    el("span", { className: "verb", textContent: verb.toUpperCase() }),
    el("code", { textContent: path }),
    el("span", { className: "text", textContent: op.summary }));
  const details = el("details", { id: op.operationId }, head, box);
  details.dataset.text = `${verb} ${path} ${op.description}`.toLowerCase();
  return details;
};

const show = (doc) => {
  const main = document.getElementById("operations");
  main.replaceChildren();
  for (const tag of doc.tags) {
    const group = el("section", {}, el("h2", { textContent: tag.name }), el("p", { className: "text", textContent: tag.description }));
    for (const [path, verbs] of Object.entries(doc.paths))
      for (const [verb, op] of Object.entries(verbs))
        if (op.tags[0] === tag.name) group.append(operation(doc, path, verb, op));
    main.append(group);
  }
  document.getElementById("filter").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const details of main.querySelectorAll("details"))
      details.hidden = !words.every((word) => details.dataset.text.includes(word));
  });
};

fetch("/openapi.json")
  .then((response) => response.json())
  .then(show)
  .catch(() => document.getElementById("operations").replaceChildren(el("p", { textContent: "openapi.json cannot be loaded." })));
