// An application on OpenAI's SDK: openai.mjs SESSION [stream]
import { execFileSync } from "node:child_process";
import { provider, require } from "./provider.mjs";

const OpenAI = require("openai");
const { ChatCompletionStream } = require("openai/lib/ChatCompletionStream");

const [session, streamed] = process.argv.slice(2); // who asks: the application knows it, the model does not say it
const client = new OpenAI({ baseURL: await provider("openai", session, streamed), apiKey: "none" });
const model = "any";

const toolhost = (command, input) =>
  JSON.parse(execFileSync("toolhost", [command, "--format", "openai", "--as", session], { input, stdio: ["pipe", "pipe", "inherit"], maxBuffer: 1 << 28 }));

async function ask(messages) {
  for (;;) {
    const { choices: [{ message }] } = await client.chat.completions.create({ model, messages, tools: toolhost("tools") });
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    messages.push(...toolhost("answer", JSON.stringify(message)));
  }
}

async function stream(messages) {
  for (;;) {
    const response = await client.chat.completions.create({ model, messages, tools: toolhost("tools"), stream: true });
    const joined = ChatCompletionStream.fromReadableStream(response.toReadableStream());
    const chunks = [];
    for await (const chunk of joined) chunks.push(chunk);
    const { parsed, ...message } = await joined.finalMessage(); // parsed is the SDK's own
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    messages.push(...toolhost("answer", JSON.stringify(chunks)));
  }
}

const messages = [{ role: "user", content: "Where are my orders?" }];
console.log(await (streamed ? stream : ask)(messages));
for (const m of messages) if (m.role === "tool") console.log(m.tool_call_id, m.content);
