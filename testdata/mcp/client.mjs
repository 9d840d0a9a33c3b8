// A client on the official TypeScript SDK: starts the server that its arguments
// name, does one thing with it, and prints what came of it, a JSON value a line.
//
//   client.mjs list COMMAND...
//   client.mjs call TOOL ARGUMENTS COMMAND...
//   client.mjs cancel TOOL ARGUMENTS COMMAND...   (at the first progress)
import { createRequire } from "node:module";

const require = createRequire(process.env.TOOLHOST_NODE + "/");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [what, ...rest] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));

const [tool, text] = what === "list" ? [] : rest.splice(0, 2);
const [command, ...args] = rest;
const client = new Client({ name: "client.mjs", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

if (what === "list") {
  const { tools } = await client.listTools();
  print(tools.map((t) => t.name));
} else {
  const stop = new AbortController();
  const options = {
    signal: stop.signal,
    onprogress: (p) => {
      print({ progress: p.progress, total: p.total });
      if (what === "cancel") stop.abort("enough");
    },
  };
  try {
    const r = await client.callTool({ name: tool, arguments: JSON.parse(text) }, undefined, options);
    print({ isError: r.isError ?? false, text: r.content[0].text, structured: r.structuredContent ?? null });
  } catch (e) {
    print({ code: e.code ?? null, message: e.message });
  }
  if (what === "cancel") print(await client.ping());
}
await client.close();
