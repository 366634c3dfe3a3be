/*
 * The MCP server that the conformance suite expects to find: the tools, resources and prompts that its scenarios name. It
 * speaks raw JSON-RPC in lines, needs nothing but Node, and stands behind Palisade like any other upstream server. With
 * ERA=modern it speaks the revision 2026-07-28, else those with `initialize`.
 */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const MODERN = '2026-07-28';
const isModern = process.env.ERA === 'modern';
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

const text = (words) => ({ type: 'text', text: words });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const resource = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const content = (...blocks) => ({ content: blocks });

const RICH_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** By the name of each tool, what it answers. */
const TOOLS = {
  test_simple_text: () => content(text('This is a simple text response for testing.')),
  test_image_content: () => content(image),
  test_audio_content: () => content({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  test_embedded_resource: () =>
    content(resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  test_multiple_content_types: () =>
    content(
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  test_error_handling: () => ({
    ...content(text('This tool intentionally returns an error for testing')),
    isError: true,
  }),
  test_tool_with_progress: async (_input, progress) => {
    for (const done of [0, 50, 100]) {
      progress(done);
      await sleep(50);
    }
    return content(text('Done, with progress.'));
  },
  test_tool_with_logging: () => content(text('Done, and nothing was logged.')),
  test_logging_tool: () => content(text('Done, and nothing was logged.')),
  json_schema_2020_12_tool: () => content(text('Read.')),
  // Those that the suite has ask for something: here the policies ask a person first, and then they run.
  test_streaming_elicitation: () => content(text('Permitted.')),
  test_input_required_result_elicitation: () => content(text('Permitted.')),
  test_input_required_result_tampered_state: () => content(text('Permitted.')),
};

const RESOURCES = {
  'test://static-text': {
    name: 'static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  'test://static-binary': { name: 'static-binary', mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { name: 'watched-resource', mimeType: 'text/plain', text: 'Nothing new.' },
};
const TEMPLATE = 'test://template/{id}/data';

const user = (block) => ({ role: 'user', content: block });

/** By the name of each prompt, its arguments and its messages. */
const PROMPTS = {
  test_simple_prompt: {
    arguments: [],
    messages: () => [user(text('This is a simple prompt for testing.'))],
  },
  test_prompt_with_arguments: {
    arguments: ['arg1', 'arg2'],
    messages: ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    messages: ({ resourceUri }) => [
      user(resource(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      user(text('Please process the embedded resource above.')),
    ],
  },
  test_prompt_with_image: {
    arguments: [],
    messages: () => [user(image), user(text('Please analyze the image above.'))],
  },
};

function read(uri) {
  const { name: _name, ...kept } = RESOURCES[uri] ?? {};
  if (kept.mimeType !== undefined) return { contents: [{ uri, ...kept }] };
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) return undefined;
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: 'application/json', text: data }] };
}

const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} };

/** By method, what is answered; undefined: an error. */
const ANSWERS = {
  'server/discover': () => ({ supportedVersions: [MODERN], capabilities, ...caching }),
  'tools/list': () => ({
    tools: Object.keys(TOOLS).map((name) => ({
      name,
      description: `Does what the conformance suite expects of ${name}.`,
      inputSchema: name === 'json_schema_2020_12_tool' ? RICH_SCHEMA : { type: 'object', properties: {} },
    })),
    ...caching,
  }),
  'tools/call': ({ name, arguments: input = {} }, progress) => TOOLS[name]?.(input, progress),
  'resources/list': () => ({
    resources: Object.entries(RESOURCES).map(([uri, { name, mimeType }]) => ({
      ...{ uri, name, mimeType, description: `The resource ${name}.` },
    })),
    ...caching,
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [
      {
        uriTemplate: TEMPLATE,
        name: 'data',
        description: 'The data of an id.',
        mimeType: 'application/json',
      },
    ],
    ...caching,
  }),
  'resources/read': ({ uri }) => ({ ...read(uri), ...caching }),
  'prompts/list': () => ({
    prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({
      name,
      description: `The prompt ${name}.`,
      arguments: prompt.arguments.map((each) => ({
        name: each,
        description: `The ${each}.`,
        required: true,
      })),
    })),
    ...caching,
  }),
  'prompts/get': ({ name, arguments: given = {} }) =>
    PROMPTS[name] && { messages: PROMPTS[name].messages(given) },
  'completion/complete': ({ argument }) => ({
    completion: { values: ['testing', 'tested'].filter((each) => each.startsWith(argument.value)), total: 2 },
  }),
  ping: () => ({}),
};

const caching = isModern ? { ttlMs: 0, cacheScope: 'private' } : {};

function answer({ method, params = {} }) {
  const token = params._meta?.progressToken;
  const progress = (done) =>
    token !== undefined &&
    say({ method: 'notifications/progress', params: { progressToken: token, progress: done, total: 100 } });
  if (!isModern && method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities,
      serverInfo: { name: 'fixture', version: '1' },
    };
  const isSpoken = isModern
    ? method !== 'ping' && params._meta?.['io.modelcontextprotocol/protocolVersion'] === MODERN
    : method !== 'server/discover';
  return isSpoken ? ANSWERS[method]?.(params, progress) : undefined;
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined || message.method === undefined) return;
  const result = await answer(message);
  const isFound =
    result !== undefined && !(message.method === 'resources/read' && result.contents === undefined);
  if (isFound) say({ id: message.id, result: isModern ? { resultType: 'complete', ...result } : result });
  else say({ id: message.id, error: { code: -32602, message: `Not found: ${message.method}` } });
});
