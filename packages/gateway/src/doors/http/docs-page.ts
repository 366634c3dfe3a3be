import type { Json } from '../../core/json.ts';
import type { Operation } from '../../operations/operation.ts';
import { type DescribedOperation, openApiDocument } from './openapi.ts';

/* The OpenAPI document as one page for people: no scripts, nothing from elsewhere, readable without a style sheet. */

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { overflow: auto; max-height: 30rem; padding: .75rem; border: 1px solid var(--line); border-radius: 6px; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 4.5rem; font-family: ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: .3rem .6rem .3rem 0; }
nav a { margin-right: 1rem; }
`;

type Content = NonNullable<DescribedOperation['requestBody']>['content'];

/** The door's descriptions of itself, for programs and for people, by path. */
export function makePages(
  operations: readonly Operation[],
  version: string,
): Readonly<Record<string, { readonly type: string; readonly text: string }>> {
  const document = openApiDocument(operations, version);
  return {
    '/openapi.json': { type: 'application/json; charset=utf-8', text: JSON.stringify(document) },
    '/docs': { type: 'text/html; charset=utf-8', text: docsPage(document) },
  };
}

/** The whole page. */
function docsPage({ info, tags, paths, components }: ReturnType<typeof openApiDocument>): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<h2 id="${text(name)}">${text(name)}</h2><p>${prose(description)}</p>${own.map(operationOf).join('')}`;
  });
  const links = [...tags.map(({ name }) => name), 'schemas'];
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${text(info.title)} ${text(info.version)}: HTTP API</title><style>${STYLE}</style></head>
<body>
<h1>${text(info.title)} ${text(info.version)}: HTTP API</h1>
${info.description
  .split('\n\n')
  .map((paragraph) => `<p>${prose(paragraph)}</p>`)
  .join('\n')}
<p>For programs: <a href="/openapi.json">/openapi.json</a></p>
<nav>${links.map((name) => `<a href="#${text(name)}">${text(name)}</a>`).join(' ')}</nav>
${sections.join('\n')}
<h2 id="schemas">schemas</h2>
${Object.entries(components.schemas).map(schemaOf).join('\n')}
</body>
</html>
`;
}

type ShownOperation = {
  readonly path: string;
  readonly method: string;
  readonly operation: DescribedOperation;
};

function operationOf({ path, method, operation }: ShownOperation): string {
  const { operationId, summary, description = summary, security, parameters = [], requestBody } = operation;
  const replies = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
  return `<details id="${text(operationId)}"><summary><b>${text(method.toUpperCase())}</b> <code>${text(path)}</code> ${prose(summary)}</summary>
<p>${prose(description)}</p><p>${needsOf(security)}</p>
${parameters.length === 0 ? '' : `<table><tr><th>parameter</th><th>in</th><th>what</th></tr>${parameters.map(parameterOf).join('')}</table>`}
${requestBody === undefined ? '' : `<p>Body</p>${contentOf(requestBody.content)}`}
${replies.map(([status, reply]) => `<p>${text(status)}: ${prose(reply.description ?? '')}</p>${contentOf(reply.content ?? {})}`).join('')}
</details>`;
}

function needsOf(security: DescribedOperation['security']): string {
  const [needed] = security;
  if (needed === undefined) return 'Needs no credential.';
  const [scope] = needed.token ?? [];
  return scope === undefined ? 'Needs a token.' : `Needs a token with the scope <code>${text(scope)}</code>.`;
}

type Parameter = NonNullable<DescribedOperation['parameters']>[number];

function parameterOf({ name, in: location, required, description = '', schema }: Parameter): string {
  const note = required ? '' : ' (optional)';
  return `<tr><td><code>${text(name)}</code>${note}</td><td>${text(location)}</td><td>${prose(description)} <code>${text(JSON.stringify(schema))}</code></td></tr>`;
}

function contentOf(content: Content): string {
  return Object.entries(content)
    .map(
      ([type, { schema }]) => `<p><code>${text(type)}</code></p>${schema === undefined ? '' : shown(schema)}`,
    )
    .join('');
}

function schemaOf([name, schema]: [string, Json]): string {
  return `<details id="schema-${text(name)}"><summary><code>${text(name)}</code></summary>${shown(schema)}</details>`;
}

function shown(schema: Json): string {
  const link = (_: string, name: string) =>
    `&quot;<a href="#schema-${name}">#/components/schemas/${name}</a>&quot;`;
  const linked = text(JSON.stringify(schema, null, 2)).replace(
    /&quot;#\/components\/schemas\/(\w+)&quot;/g,
    link,
  );
  return `<pre>${linked}</pre>`;
}

/** Boundary: whatever the document contains is text on the page. */
function text(raw: string): string {
  return raw.replace(/[&<>"']/g, (char) => `&${ESCAPES[char] ?? 'amp'};`);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": '#39',
};

function prose(raw: string): string {
  return text(raw).replace(/`([^`]+)`/g, '<code>$1</code>');
}
