// Plays a model's provider on 127.0.0.1 for openai.mjs, anthropic.mjs and google.mjs,
// so that the real SDKs run without a network, a key or a model. The first request
// is answered with two calls of get_order, the second with a text. A request that
// is not as it must be gets 400, which ends the script.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";

export const require = createRequire(process.env.TOOLHOST_NODE + "/");

const orders = ["LK-581106", "LK-615204"]; // of the customer who asks, and of another
const text = "Your garden shed has been shipped.";
const argumentsOf = (order_id) => JSON.stringify({ order_id });
const pieces = (order_id) => argumentsOf(order_id).match(/.{1,9}/g);

// What each provider says, whole and streamed, and what must stand in the second request.
const plays = {
  openai(streamed) {
    const calls = orders.map((o, i) => ({ id: `call_${i}`, type: "function", function: { name: "get_order", arguments: argumentsOf(o) } }));
    const message = { role: "assistant", content: null, refusal: null, tool_calls: calls };
    const whole = (message, finish_reason) => ({ id: "c", object: "chat.completion", choices: [{ index: 0, message, finish_reason }] });
    const chunk = (delta, finish_reason = null) => ({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
    const parts = calls.flatMap((c, index) => [
      chunk({ tool_calls: [{ ...c, index, function: { name: "get_order", arguments: "" } }] }),
      ...pieces(orders[index]).map((p) => chunk({ tool_calls: [{ index, function: { arguments: p } }] })),
    ]);
    return {
      answers: streamed
        ? [[chunk({ role: "assistant", content: null }), ...parts, chunk({}, "tool_calls")], [chunk({ role: "assistant", content: text }), chunk({}, "stop")]]
        : [whole(message, "tool_calls"), whole({ role: "assistant", content: text }, "stop")],
      check({ messages: [, said, ...results] }) {
        assert.deepEqual(said, message);
        assert.deepEqual(results.map((r) => [r.role, r.tool_call_id]), calls.map((c) => ["tool", c.id]));
      },
    };
  },
  anthropic(streamed) {
    const content = orders.map((order_id, i) => ({ type: "tool_use", id: `toolu_${i}`, name: "get_order", input: { order_id } }));
    const message = (content, stop_reason) => ({ id: "msg_1", type: "message", role: "assistant", model: "any", content, stop_reason, usage: { input_tokens: 1, output_tokens: 1 } });
    const block = (index, content_block, deltas) => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
    const stream = (stop_reason, ...blocks) => [
      { type: "message_start", message: message([], null) }, ...blocks.flat(),
      { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } }, { type: "message_stop" },
    ];
    const uses = content.map((c, i) => block(i, { ...c, input: {} }, pieces(orders[i]).map((p) => ({ type: "input_json_delta", partial_json: p }))));
    return {
      answers: streamed
        ? [stream("tool_use", ...uses), stream("end_turn", block(0, { type: "text", text: "" }, [{ type: "text_delta", text }]))]
        : [message(content, "tool_use"), message([{ type: "text", text }], "end_turn")],
      check({ messages: [, said, results, ...more] }) {
        assert.deepEqual(said, { role: "assistant", content });
        assert.deepEqual(results.content.map((r) => [r.type, r.tool_use_id, r.is_error ?? false]), content.map((c, i) => ["tool_result", c.id, i > 0]));
        assert.deepEqual([results.role, more], ["user", []]);
      },
    };
  },
  gemini() {
    const parts = orders.map((order_id, i) => ({ functionCall: { id: `f-${i}`, name: "get_order", args: { order_id } }, thoughtSignature: "c2ln" }));
    const whole = (parts) => ({ candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }] });
    return {
      answers: [whole(parts), whole([{ text }])],
      check({ contents: [, said, results, ...more] }) {
        assert.deepEqual(said, { role: "model", parts });
        assert.deepEqual(results.parts.map((p) => [p.functionResponse.id, p.functionResponse.response.ok]), parts.map((p, i) => [p.functionCall.id, i === 0]));
        assert.deepEqual([results.role, more], ["user", []]);
      },
    };
  },
};

// provider starts one and gives its URL. The tools of a request must be the bytes that toolhost wrote.
export async function provider(format, session, streamed) {
  const { answers, check } = plays[format](streamed);
  const written = execFileSync("toolhost", ["tools", "--format", format, "--as", session], { encoding: "utf8" }).trim();
  const tools = `"tools":${format === "gemini" ? `[${written}]` : written}`;
  let requests = 0;
  const server = createServer(async (request, response) => {
    try {
      let body = "";
      for await (const part of request) body += part;
      assert.ok(body.includes(tools), `the request is without ${tools}`);
      if (requests === 1) check(JSON.parse(body));
      const answer = answers[requests++];
      assert.ok(answer, "one request too many");
      response.setHeader("content-type", streamed ? "text/event-stream" : "application/json");
      response.end(streamed ? answer.map(event).join("") : JSON.stringify(answer));
    } catch (e) {
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: e.message } }));
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
}

const event = (e) => `${e.type ? `event: ${e.type}\n` : ""}data: ${JSON.stringify(e)}\n\n`;
