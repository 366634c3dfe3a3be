import { describe, expect, it } from 'vitest';
import { type HostName, parseHost } from '../../src/egress/authority.ts';
import { LookupTurns } from '../../src/egress/resolve.ts';

function nameOf(text: string): HostName {
  const host = parseHost(text);
  if (!host.ok || host.value.kind !== 'name') throw new Error(text);
  return host.value.name;
}

/** A lookup that answers when the test says so. */
function slowLookup() {
  const asked: string[] = [];
  const answers = new Map<string, () => void>();
  const lookup = (name: HostName) =>
    new Promise<readonly string[]>((resolve) => {
      asked.push(name);
      answers.set(name, () => resolve([`address of ${name}`]));
    });
  const answer = async (name: string) => {
    answers.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { lookup, asked, answer };
}

const never = () => new AbortController().signal;

describe('runs that look names up', () => {
  it('have one question under way each, and so many in all', async () => {
    const { lookup, asked, answer } = slowLookup();
    const turns = new LookupTurns(lookup, 2);
    const [a, b, c] = [turns.forRun(), turns.forRun(), turns.forRun()];
    const all = [
      a(nameOf('a1.test'), never()),
      a(nameOf('a2.test'), never()),
      b(nameOf('b1.test'), never()),
      c(nameOf('c1.test'), never()),
    ];
    expect(asked).toEqual(['a1.test', 'b1.test']);
    await answer('a1.test');
    // The run that had its turn goes behind the one that had none.
    expect(asked).toEqual(['a1.test', 'b1.test', 'c1.test']);
    await answer('c1.test');
    expect(asked.at(-1)).toBe('a2.test');
    await answer('b1.test');
    await answer('a2.test');
    expect(await Promise.all(all)).toEqual([
      ['address of a1.test'],
      ['address of a2.test'],
      ['address of b1.test'],
      ['address of c1.test'],
    ]);
  });

  it('with a thousand names that nobody answers keep no other run from its answer', async () => {
    const { lookup, asked, answer } = slowLookup();
    const turns = new LookupTurns(lookup, 2);
    const [hostile, other] = [turns.forRun(), turns.forRun()];
    const questions = Array.from({ length: 1_000 }, (_, index) => hostile(nameOf(`h${index}.test`), never()));
    const answered = other(nameOf('other.test'), never());
    expect(asked).toEqual(['h0.test', 'other.test']);
    await answer('other.test');
    expect(await answered).toEqual(['address of other.test']);
    expect(questions).toHaveLength(1_000);
  });

  it('that have given up are not asked for', async () => {
    const { lookup, asked, answer } = slowLookup();
    const run = new LookupTurns(lookup, 2).forRun();
    const stop = new AbortController();
    const first = run(nameOf('first.test'), never());
    const refused = expect(run(nameOf('second.test'), stop.signal)).rejects.toThrow('gone');
    stop.abort(new Error('gone'));
    const third = run(nameOf('third.test'), never());
    await answer('first.test');
    await refused;
    await answer('third.test');
    expect([await first, await third]).toHaveLength(2);
    expect(asked).toEqual(['first.test', 'third.test']);
  });

  it('go on after a lookup that failed', async () => {
    const turns = new LookupTurns(async (name) => {
      if (name === 'bad.test') throw new Error('no such name');
      return ['192.0.2.1'];
    }, 1);
    const run = turns.forRun();
    await expect(run(nameOf('bad.test'), never())).rejects.toThrow('no such name');
    expect(await run(nameOf('good.test'), never())).toEqual(['192.0.2.1']);
  });
});
