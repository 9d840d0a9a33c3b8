// An application on Google's Gen AI SDK: google.mjs SESSION
import { execFileSync } from "node:child_process";
import { provider, require } from "./provider.mjs";

const { GoogleGenAI } = require("@google/genai");

const [session] = process.argv.slice(2); // who asks: the application knows it, the model does not say it
const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: await provider("gemini", session) } });
const model = "any";

const toolhost = (command, input) =>
  JSON.parse(execFileSync("toolhost", [command, "--format", "gemini", "--as", session], { input, stdio: ["pipe", "pipe", "inherit"], maxBuffer: 1 << 28 }));

async function ask(contents) {
  for (;;) {
    const response = await client.models.generateContent({ model, contents, config: { tools: [toolhost("tools")] } });
    const { content } = response.candidates[0];
    contents.push(content);
    if (!response.functionCalls?.length) return response.text;
    contents.push(toolhost("answer", JSON.stringify(content)));
  }
}

const contents = [{ role: "user", parts: [{ text: "Where are my orders?" }] }];
console.log(await ask(contents));
for (const { functionResponse: r } of contents[2].parts) console.log(r.id, JSON.stringify(r.response));
