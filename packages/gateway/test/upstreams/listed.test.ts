import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import { everyDefinition, setFrom, setOf } from '../../src/upstreams/definition.ts';
import { differenceOf } from '../../src/upstreams/difference.ts';
import {
  fitsTemplate,
  LISTED_LIMITS,
  NOTHING_LISTED,
  type RawListed,
  readListed,
} from '../../src/upstreams/listed.ts';

const NONE: RawListed = { prompts: [], templates: [], resources: [], completes: false };

const PROMPT = {
  name: 'greet',
  description: 'Says hello.',
  arguments: [{ name: 'who', description: 'Whom.', required: true }],
};
const RESOURCE = { uri: 'test://a', name: 'a', description: 'The a.', mimeType: 'text/plain' };
const TEMPLATE = { uriTemplate: 'test://{id}/data', name: 'data' };

function listedOf(raw: Partial<RawListed>) {
  const read = readListed({ ...NONE, ...raw });
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

function whyOf(raw: Partial<RawListed>): string {
  const read = readListed({ ...NONE, ...raw });
  return read.ok ? '' : read.problem;
}

describe('readListed()', () => {
  it('reads prompts, templates and resources in the order of their names', () => {
    const listed = listedOf({
      prompts: [{ name: 'z' }, PROMPT],
      templates: [TEMPLATE],
      resources: [{ ...RESOURCE, uri: 'test://b' }, RESOURCE],
    });
    expect(listed.prompts.map(({ name }) => name)).toEqual(['greet', 'z']);
    expect(listed.prompts[0]?.arguments).toEqual([{ name: 'who', description: 'Whom.', isRequired: true }]);
    expect(listed.templates.map(({ uri }) => uri)).toEqual(['test://{id}/data']);
    expect(listed.resources.map(({ uri }) => uri)).toEqual(['test://a', 'test://b']);
  });

  it.each([
    ['a prompt without a name', { prompts: [{}] }, 'it lists prompts[0], which has no name'],
    [
      'a prompt with a name of another alphabet',
      { prompts: [{ name: 'grееt' }] },
      'it lists prompts[0].name, which is "',
    ],
    ['a prompt twice', { prompts: [PROMPT, PROMPT] }, 'twice'],
    ['a title that hides', { prompts: [{ ...PROMPT, title: 'a\u202eb' }] }, 'prompts[0].title'],
    [
      'an argument that is not valid',
      { prompts: [{ ...PROMPT, arguments: ['who'] }] },
      'prompts[0].arguments[0]',
    ],
    [
      'a template without a scheme',
      { templates: [{ uriTemplate: '/x', name: 'x' }] },
      'templates[0].uriTemplate',
    ],
    [
      'a template without a name',
      { templates: [{ uriTemplate: 'test://x' }] },
      'templates[0], which has no name',
    ],
    [
      'more prompts than can be read',
      { prompts: Array(LISTED_LIMITS.prompts + 1).fill(PROMPT) },
      'more prompts',
    ],
  ] as const)('turns a set down that has %s', (_what, raw, why) => {
    expect(whyOf(raw as Partial<RawListed>)).toContain(why);
  });

  it('leaves out a resource that cannot be read, and keeps the rest', () => {
    const bad = [{ uri: 'no address', name: 'x' }, { uri: 'test://\u200bx', name: 'x' }, 7];
    expect(listedOf({ resources: [...bad, RESOURCE] }).resources).toHaveLength(1);
  });

  it('shows so many resources and no more', () => {
    const many = Array.from({ length: LISTED_LIMITS.resources + 5 }, (_, i) => ({
      ...RESOURCE,
      uri: `test://${i}`,
    }));
    expect(listedOf({ resources: many }).resources).toHaveLength(LISTED_LIMITS.resources);
  });

  it('never throws, whatever a server lists', () => {
    const anything = fc.array(fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>, { maxLength: 5 });
    fc.assert(
      fc.property(anything, anything, anything, (prompts, templates, resources) => {
        const read = readListed({ prompts, templates, resources, completes: true });
        expect(typeof (read.ok ? '' : read.problem)).toBe('string');
      }),
    );
  });
});

describe('a set with more than tools', () => {
  const some = listedOf({ prompts: [PROMPT], templates: [TEMPLATE], resources: [RESOURCE], completes: true });

  it('is read back from its text as it was', () => {
    const set = setOf([], some);
    expect(setFrom(set.text)).toEqual(set);
  });

  it('has the digest and the text of its tools alone where there is nothing else', () => {
    const set = setOf([], NOTHING_LISTED);
    expect(set.text).toBe('[]');
    expect(setFrom(set.text)).toEqual(set);
  });

  it.each([
    ['prompt', { ...some, prompts: [] }, 'prompt greet'],
    ['template', { ...some, templates: [] }, 'template test://{id}/data'],
    ['completion', { ...some, completes: false }, 'completions'],
  ])('is another one without its %s, and the difference says which', (_what, listed, removed) => {
    const [before, now] = [setOf([], some), setOf([], listed)];
    expect(now.digest).not.toBe(before.digest);
    expect(differenceOf(everyDefinition(before), everyDefinition(now)).removed).toEqual([removed]);
  });

  it.each([
    ['prompts and templates', some],
    ['nothing else', { ...NOTHING_LISTED, resources: some.resources }],
  ])('is the same without its resources beside %s, and its text is another', (_what, listed) => {
    const [before, now] = [setOf([], listed), setOf([], { ...listed, resources: [] })];
    expect(now.digest).toBe(before.digest);
    expect(now.text).not.toBe(before.text);
  });
});

describe('fitsTemplate()', () => {
  it.each([
    ['test://{id}/data', 'test://123/data', true],
    ['test://{id}/data', 'test:///data', true],
    ['test://{id}/data', 'test://123/date', false],
    ['test://{id}/data', 'other://123/data', false],
    ['test://a{b}a', 'test://a', false],
    ['test://{a}/x/{b}', 'test://1/x/2', true],
    ['test://{a}/x/{b}', 'test://1/y/2', false],
    ['test://{a}/x/{b}/x', 'test://1/x', false],
    ['file:///{+path}', 'file:///etc/hosts', true],
    ['test://plain', 'test://plain', true],
    ['test://plain', 'test://plainer', false],
  ])('of %s and %s says %s', (template, uri, fits) => {
    expect(fitsTemplate(template, uri)).toBe(fits);
  });

  it('fits what a template makes of any values', () => {
    const part = fc.stringMatching(/^[a-z/]{0,6}$/);
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.array(part, { maxLength: 5 }),
        (parts, values) => {
          const template = `t://${parts.join('{v}')}`;
          const uri = `t://${parts.map((each, i) => (i === 0 ? each : `${values[i - 1] ?? ''}${each}`)).join('')}`;
          expect(fitsTemplate(template, uri)).toBe(true);
        },
      ),
    );
  });
});
