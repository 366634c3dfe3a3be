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

/** Requests to the client that it has not answered yet. */
const asked = new Map();

/** Asks the client for something in the middle of a call, as revisions with `initialize` can. */
function ask(method, params) {
  const id = `q${asked.size + 1}`;
  say({ id, method, params });
  return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
}

/** Ends a call by asking for input, as the newer revision does. */
const requires = (inputRequests, requestState) => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState === undefined ? {} : { requestState }),
});
const fieldsOf = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const elicits = (message, properties) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: fieldsOf(properties) },
});
const TEXT = { type: 'string' };
const SAMPLES = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text('Say hello') }], maxTokens: 50 },
};
const ROOTS = { method: 'roots/list', params: {} };

async function elicited(message, properties) {
  const requestedSchema = { type: 'object', properties };
  const { action, content: given } = await ask('elicitation/create', { message, requestedSchema });
  return content(text(`Elicitation completed: action=${action}, content=${JSON.stringify(given)}`));
}

const OPTIONS = ['option1', 'option2', 'option3'];
const titled = (words) => words.map((title, i) => ({ const: `value${i + 1}`, title }));

/** Those that ask for something; the newer revision answers with a question, and gets the answer with a second call. */
const ASKING_TOOLS = {
  test_elicitation: ({ message }) => elicited(message ?? 'Who are you?', { username: TEXT, email: TEXT }),
  test_elicitation_sep1034_defaults: () =>
    elicited('Check these', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: () =>
    elicited('Choose', {
      untitledSingle: { type: 'string', enum: OPTIONS },
      titledSingle: { type: 'string', oneOf: titled(['First', 'Second', 'Third']) },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
      titledMulti: { type: 'array', items: { anyOf: titled(['First', 'Second', 'Third']) } },
    }),
  test_sampling: async () => {
    const { content: given } = await ask(SAMPLES.method, SAMPLES.params);
    return content(text(`LLM response: ${given.text}`));
  },
  test_missing_capability: () => requires({ sample: SAMPLES }),
  test_streaming_elicitation: (_input, { user_name: answer } = {}) =>
    answer === undefined
      ? requires({ user_name: elicits('What is your name?', { name: TEXT }) })
      : content(text(`Hello, ${answer.content?.name}!`)),
  test_input_required_result_tampered_state: (_input, { confirm } = {}) =>
    confirm === undefined
      ? requires({ confirm: elicits('Please confirm', { ok: { type: 'boolean' } }) })
      : content(text('Confirmed.')),
  test_input_required_result_elicitation: (_input, { user_name: answer } = {}) =>
    answer === undefined
      ? requires({ user_name: elicits('What is your name?', { name: TEXT }) })
      : content(text(`Hello, ${answer.content?.name}!`)),
  test_input_required_result_request_state: (_input, { confirm } = {}, state) =>
    confirm === undefined || state !== 'state of the fixture'
      ? requires({ confirm: elicits('Please confirm', { ok: { type: 'boolean' } }) }, 'state of the fixture')
      : content(text('state-ok')),
  test_input_required_result_multi_round: (_input, { step1, step2 } = {}) => {
    if (step2 !== undefined) return content(text('Done after two questions.'));
    return step1 === undefined
      ? requires({ step1: elicits('Step 1: What is your name?', { name: TEXT }) }, 'one')
      : requires({ step2: elicits('Step 2: What is your favorite color?', { color: TEXT }) }, 'two');
  },
  test_input_required_result_sampling: () => requires({ capital_question: SAMPLES }),
  test_input_required_result_list_roots: () => requires({ client_roots: ROOTS }),
  test_input_required_result_multiple_inputs: () =>
    requires(
      { user_name: elicits('What is your name?', { name: TEXT }), greeting: SAMPLES, client_roots: ROOTS },
      'all',
    ),
  test_input_required_result_capabilities: () => requires({ greeting: SAMPLES }),
};

async function logged(log) {
  for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    log(message);
    await sleep(50);
  }
  return content(text('Done, with three messages in the log.'));
}

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
  test_tool_with_progress: async (_input, { progress }) => {
    for (const done of [0, 50, 100]) {
      progress(done);
      await sleep(50);
    }
    return content(text('Done, with progress.'));
  },
  test_tool_with_logging: (_input, { log }) => logged(log),
  test_logging_tool: (_input, { log }) => logged(log),
  json_schema_2020_12_tool: () => content(text('Read.')),
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

/** The one that asks for input first. */
const ASKING_PROMPT = 'test_input_required_result_prompt';

/** By the name of each prompt, its arguments and its messages. */
const PROMPTS = {
  [ASKING_PROMPT]: { arguments: [], messages: () => [user(text('This prompt was asked about.'))] },
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

const capabilities =
  process.env.PART === 'changing'
    ? { tools: { listChanged: true } }
    : { tools: {}, resources: {}, prompts: {}, completions: {}, logging: {} };

/**
 * With PART=changing it is another server, one of whose tools changes the list. Palisade then takes all tools of the server
 * away, so that it can be done once: it is, at the call at which the suite looks for the notification.
 */
const CHANGING_CALL = 3;
const changing = { calls: 0, isChanged: false, onListed: () => undefined };
const CHANGING_TOOLS = {
  start: () => content(text('Started.')),
  test_trigger_tool_change: async () => {
    changing.calls += 1;
    if (changing.calls < CHANGING_CALL) return content(text('Not yet.'));
    changing.isChanged = true;
    const listed = new Promise((resolve) => {
      changing.onListed = resolve;
    });
    say({ method: 'notifications/tools/list_changed' });
    await listed;
    // What was listed is on its way; the answer to the call comes after it.
    await sleep(100);
    return content(text('Changed.'));
  },
};
const isChanging = process.env.PART === 'changing';
const namesNow = () => {
  if (!isChanging) return [...Object.keys(TOOLS), ...Object.keys(ASKING_TOOLS)];
  if (changing.isChanged) changing.onListed();
  return [...Object.keys(CHANGING_TOOLS), ...(changing.isChanged ? ['test_added_tool'] : [])];
};

/** By method, what is answered; undefined: an error. */
const ANSWERS = {
  'server/discover': () => ({ supportedVersions: [MODERN], capabilities, ...caching }),
  'tools/list': () => ({
    tools: namesNow().map((name) => ({
      name,
      description: `Does what the conformance suite expects of ${name}.`,
      inputSchema: name === 'json_schema_2020_12_tool' ? RICH_SCHEMA : { type: 'object', properties: {} },
    })),
    ...caching,
  }),
  'tools/call': ({ name, arguments: input = {}, inputResponses, requestState }, about) =>
    isChanging
      ? CHANGING_TOOLS[name]?.()
      : (TOOLS[name]?.(input, about) ?? ASKING_TOOLS[name]?.(input, inputResponses, requestState)),
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
  'prompts/get': ({ name, arguments: given = {}, inputResponses }) => {
    if (name === ASKING_PROMPT && inputResponses === undefined)
      return requires({ user_context: elicits('What context should the prompt use?', { context: TEXT }) });
    return PROMPTS[name] && { messages: PROMPTS[name].messages(given) };
  },
  'completion/complete': ({ argument }) => ({
    completion: { values: ['testing', 'tested'].filter((each) => each.startsWith(argument.value)), total: 2 },
  }),
  ping: () => ({}),
};

const caching = isModern ? { ttlMs: 0, cacheScope: 'private' } : {};

async function answer({ method, params = {} }) {
  const token = params._meta?.progressToken;
  const progress = (done) =>
    token !== undefined &&
    say({ method: 'notifications/progress', params: { progressToken: token, progress: done, total: 100 } });
  const isLogging = !isModern || params._meta?.['io.modelcontextprotocol/logLevel'] !== undefined;
  const log = (data) =>
    isLogging && say({ method: 'notifications/message', params: { level: 'info', logger: 'tools', data } });
  if (!isModern && method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities,
      serverInfo: { name: 'fixture', version: '1' },
    };
  const isSpoken = isModern
    ? method !== 'ping' && params._meta?.['io.modelcontextprotocol/protocolVersion'] === MODERN
    : method !== 'server/discover';
  return isSpoken ? ANSWERS[method]?.(params, { progress, log }) : undefined;
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  if (message.method === undefined) {
    const { resolve, reject } = asked.get(message.id);
    if (message.error === undefined) resolve(message.result);
    else reject(new Error(message.error.message));
    return;
  }
  const result = await answer(message).catch(({ message: why }) => ({
    ...content(text(why)),
    isError: true,
  }));
  const isFound =
    result !== undefined && !(message.method === 'resources/read' && result.contents === undefined);
  if (isFound) say({ id: message.id, result: isModern ? { resultType: 'complete', ...result } : result });
  else say({ id: message.id, error: { code: -32602, message: `Not found: ${message.method}` } });
});
