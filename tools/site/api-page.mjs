/** Every operation of the HTTP API as a page, made from the OpenAPI document of the gateway. */
import { escapeHtml as text } from './escape.mjs';

/** The page of the document: an operation per heading, a section per noun, the schemas at the end. */
export function apiPage({ info, tags, paths, components }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<h2 id="${text(name)}">${text(name)}</h2>\n<p>${prose(description)}</p>\n${own.map(operationOf).join('\n')}`;
  });
  const intro = info.description.split('\n\n').map((paragraph) => `<p>${prose(paragraph)}</p>`);
  const html = `<h1 id="every-request">Every request</h1>
${intro.join('\n')}
<p>For programs, the daemon has this as <code>/openapi.json</code>.</p>
${sections.join('\n')}
<h2 id="schemas">schemas</h2>
${Object.entries(components.schemas).map(schemaOf).join('\n')}
`;
  return {
    title: 'Every request',
    html,
    headings: [...tags.map(({ name }) => name), 'schemas'].map((id) => ({ id, depth: 2, text: id })),
    sections: operations.map(({ path, method, operation }) => ({
      id: operation.operationId,
      text: `${method.toUpperCase()} ${path}`,
      body: operation.description ?? operation.summary,
    })),
  };
}

function operationOf({ path, method, operation }) {
  const { operationId, summary, description = summary, security, parameters = [], requestBody } = operation;
  // The summary is the first sentence of the description.
  const rest = description.slice(summary.length).trim();
  const replies = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
  const table = parameters.map(parameterOf).join('');
  return `<details class="operation" id="${text(operationId)}"><summary><b>${text(method.toUpperCase())}</b> <code>${text(path)}</code> ${prose(summary)}</summary>
${rest === '' ? '' : `<p>${prose(rest)}</p>`}<p>${needsOf(security)}</p>
${parameters.length === 0 ? '' : `<div class="table"><table><thead><tr><th scope="col">parameter</th><th scope="col">in</th><th scope="col">what</th></tr></thead><tbody>${table}</tbody></table></div>`}
${requestBody === undefined ? '' : `<p>Body</p>${contentOf(requestBody.content)}`}
${replies.map(([status, reply]) => `<p>${text(status)}: ${prose(reply.description ?? '')}</p>${contentOf(reply.content ?? {})}`).join('')}
</details>`;
}

function needsOf([needed]) {
  if (needed === undefined) return 'Needs no credential.';
  const [scope] = needed.token ?? [];
  return scope === undefined ? 'Needs a token.' : `Needs a token with the scope <code>${text(scope)}</code>.`;
}

function parameterOf({ name, in: location, required, description = '', schema }) {
  const note = required ? '' : ' (optional)';
  return `<tr><td><code>${text(name)}</code>${note}</td><td>${text(location)}</td><td>${prose(description)} <code class="long">${text(JSON.stringify(schema))}</code></td></tr>`;
}

function contentOf(content) {
  return Object.entries(content)
    .map(
      ([type, { schema }]) => `<p><code>${text(type)}</code></p>${schema === undefined ? '' : shown(schema)}`,
    )
    .join('');
}

function schemaOf([name, schema]) {
  return `<details id="schema-${text(name)}"><summary><code>${text(name)}</code></summary>${shown(schema)}</details>`;
}

function shown(schema) {
  const linked = text(JSON.stringify(schema, null, 2)).replace(
    /&quot;#\/components\/schemas\/(\w+)&quot;/g,
    (_, name) => `<a href="#schema-${name}">${name}</a>`,
  );
  return `<pre><code>${linked}</code></pre>`;
}

function prose(raw) {
  return text(raw).replace(/`([^`]+)`/g, '<code>$1</code>');
}
