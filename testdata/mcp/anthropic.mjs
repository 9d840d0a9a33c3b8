// An application on Anthropic's SDK: anthropic.mjs SESSION [stream]
import { execFileSync } from "node:child_process";
import { provider, require } from "./provider.mjs";

const Anthropic = require("@anthropic-ai/sdk");

const [session, streamed] = process.argv.slice(2); // who asks: the application knows it, the model does not say it
const client = new Anthropic({ baseURL: await provider("anthropic", session, streamed), apiKey: "none" });
const model = "any", max_tokens = 1024;

const toolhost = (command, input) =>
  JSON.parse(execFileSync("toolhost", [command, "--format", "anthropic", "--as", session], { input, stdio: ["pipe", "pipe", "inherit"], maxBuffer: 1 << 28 }));

async function ask(messages) {
  for (;;) {
    const { role, content, stop_reason } = await client.messages.create({ model, max_tokens, messages, tools: toolhost("tools") });
    messages.push({ role, content });
    if (stop_reason !== "tool_use") return content;
    messages.push(toolhost("answer", JSON.stringify({ role, content })));
  }
}

async function stream(messages) {
  for (;;) {
    const joined = client.messages.stream({ model, max_tokens, messages, tools: toolhost("tools") });
    let events = ""; // written down at once: the SDK joins the later ones into the first
    joined.on("streamEvent", (event) => (events += JSON.stringify(event) + "\n"));
    const { role, content, stop_reason } = await joined.finalMessage();
    messages.push({ role, content });
    if (stop_reason !== "tool_use") return content;
    messages.push(toolhost("answer", events));
  }
}

const messages = [{ role: "user", content: "Where are my orders?" }];
for (const block of await (streamed ? stream : ask)(messages)) console.log(block.text);
for (const r of messages[2].content) console.log(r.tool_use_id, r.content);
