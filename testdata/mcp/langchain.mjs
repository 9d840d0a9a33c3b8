// An application on LangChain, over MCP: langchain.mjs SESSION
import { createRequire } from "node:module";

const require = createRequire(process.env.TOOLHOST_NODE + "/");
const { AIMessage } = require("@langchain/core/messages");
const { ToolNode } = require("@langchain/langgraph/prebuilt");
const { MultiServerMCPClient } = require("@langchain/mcp-adapters");

const [session] = process.argv.slice(2); // who asks: the application knows it, the model does not say it

const client = new MultiServerMCPClient({
  mcpServers: { desk: { command: "toolhost", args: ["serve"], env: { TOOLHOST_AS: session } } },
  // The model is given toolhost's result alone, not structuredContent and the call's id beside it.
  afterToolCall: ({ result: [content] }) => ({ result: content[0].text ?? content }),
});
const tools = await client.getTools(); // for createAgent({ model, tools })

console.log(tools.map((t) => t.name));
const [getOrder] = tools;
console.log(await getOrder.invoke({ order_id: "LK-581106" }));
for (const order_id of ["LK-615204", "none"]) {
  await getOrder.invoke({ order_id }).catch((e) => console.log(`${e.name}: ${e.message.split("\n")[0]}`));
}

// As an agent calls them: what its model is given for each id.
const tool_calls = ["LK-581106", "LK-615204"].map((order_id, i) => ({ id: `call_${i}`, name: "get_order", args: { order_id } }));
const { messages } = await new ToolNode(tools).invoke({ messages: [new AIMessage({ content: "", tool_calls })] });
for (const m of messages) console.log(m.tool_call_id, m.status, m.content);
await client.close();
