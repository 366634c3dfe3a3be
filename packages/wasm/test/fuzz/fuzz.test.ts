import { describe, expect, it } from 'vitest';
import { type MeterOptions, meter } from '../../src/meter/meter.ts';
import { assemble, op } from '../fixture/builder.ts';
import { generatedSeeds, newCampaign } from './campaign.ts';
import { judge, SUBJECT, type Subject } from './judge.ts';
import { bodiesIn, codeSection, sectionsIn } from './layout.ts';
import { minimize } from './minimize.ts';
import { mutateCode } from './mutate-code.ts';
import { randomFrom } from './random.ts';

describe('a short campaign', () => {
  it('finds nothing but refusals and valid modules', () => {
    const campaign = newCampaign({ seed: 20, seeds: generatedSeeds(20, 60) });
    expect(campaign.run(4_000).map(({ fault }) => fault.message)).toEqual([]);
    // Without enough of both it would have proved little.
    const { accepted, inputs, lessons } = campaign.totals();
    expect(accepted).toBeGreaterThan(inputs / 20);
    expect(inputs - accepted).toBeGreaterThan(inputs / 20);
    expect(lessons).toBeGreaterThan(100);
  });

  it('has the same inputs when it has the same seed', () => {
    const inputsOf = (seed: number) => {
      const seen: string[] = [];
      const before = (input: Uint8Array) => seen.push(Buffer.from(input).toString('hex'));
      newCampaign({ seed, seeds: generatedSeeds(1, 10), before }).run(200);
      return seen;
    };
    expect(inputsOf(5)).toEqual(inputsOf(5));
    expect(inputsOf(5)).not.toEqual(inputsOf(6));
  });
});

describe('the fuzzer notices', () => {
  const valid = assemble({
    types: [{ params: [], results: [] }],
    functions: [{ type: 0, code: op('nop') }],
  });
  const broken = (
    change: (bytes: Uint8Array, options: MeterOptions) => Uint8Array<ArrayBuffer>,
  ): Subject => ({
    ...SUBJECT,
    meter: (bytes, options) => ({ bytes: change(bytes, options) }),
  });
  const seeds = generatedSeeds(2, 10);
  const messages = (subject: Subject) => {
    const findings = newCampaign({ seed: 3, seeds, subject }).run(300);
    return [...new Set(findings.map(({ fault }) => fault.message.split(':')[0]))];
  };

  it('nothing about what is right', () => {
    expect(judge(valid)).toMatchObject({ accepted: true });
    expect(messages(SUBJECT)).toEqual([]);
  });

  it('an error of another kind from the meter', () => {
    const subject = broken((bytes, options) => {
      if (bytes.length % 3 === 0) throw new TypeError('oops');
      return meter(bytes, options).bytes;
    });
    expect(messages(subject)).toContain('the meter throws TypeError');
  });

  it('an error of another kind from the reader', () => {
    const read = () => {
      throw new RangeError('Invalid array length');
    };
    expect(messages({ ...SUBJECT, read })).toContain('the reader throws RangeError');
  });

  it('a metered module that is invalid', () => {
    const subject = broken((bytes, options) => meter(bytes, options).bytes.slice(0, -1));
    expect(messages(subject).join()).toMatch(/form \d gives an invalid module/);
  });

  it('an invalid module that is taken', () => {
    expect(messages(broken(() => new Uint8Array(valid)))).toContain(
      'the meter takes what the reader or V8 refuses',
    );
  });
});

describe('its parts', () => {
  it('change code and keep every size right', () => {
    const random = randomFrom(9);
    const seeds = generatedSeeds(4, 20);
    for (let left = 2_000; left > 0; left -= 1) {
      const bytes = mutateCode(random, random.pick(seeds), random.pick(seeds));
      const section = codeSection(bytes);
      expect(sectionsIn(bytes).at(-1)?.end).toBe(bytes.length);
      expect(section && bodiesIn(bytes, section).at(-1)?.end).toBe(section?.end);
    }
  });

  it('cut away what a failure does not need', () => {
    const input = Uint8Array.from({ length: 1_000 }, (_, at) => at % 251);
    const holds = (bytes: Uint8Array) => bytes.includes(7) && bytes.includes(200);
    expect([...minimize(input, holds)].sort()).toEqual([200, 7]);
    expect(minimize(input, () => false)).toEqual(input);
  });
});
