import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readHead } from '../../src/journal/head.ts';
import { Roller } from '../../src/journal/journal.ts';
import { appendMany, openTestRecords, verified } from './sample.ts';

const SEGMENT = 256;

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Stands for the segments: remembers what was asked and ends when it is told how. */
function slowSegments() {
  const asked: number[] = [];
  const ends: { resolve: (sealedTo: number) => void; reject: (error: Error) => void }[] = [];
  const roll = (headSeq: number) => {
    asked.push(headSeq);
    return new Promise<number>((resolve, reject) => ends.push({ resolve, reject }));
  };
  return { roll, asked, ends };
}

describe('Roller', () => {
  it('seals full segments of a gateway that goes on running', async () => {
    const records = await openTestRecords({ toml: `[journal]\nsegment_records = ${SEGMENT}\n` });
    const folder = join(records.stateDir, 'journal');
    for (let round = 0; round < 15; round += 1) {
      appendMany(records, 100);
      await nextTurn();
    }
    const { seq } = readHead(records.store);
    const full = Math.floor(seq / SEGMENT) - 1;
    // Nothing closes the gateway here; the time limit of the test stands for "never".
    while (!existsSync(folder) || readdirSync(folder).length < full) await nextTurn();
    expect(await verified(records)).toMatchObject({ ok: true, records: seq });
  });

  it('never seals twice at once', async () => {
    const segments = slowSegments();
    const roller = new Roller(segments, SEGMENT);
    for (const seq of [600, 601, 602]) roller.note(seq);
    await nextTurn();
    roller.note(6000);
    await nextTurn();
    expect(segments.asked).toEqual([602]);
    segments.ends[0]?.resolve(SEGMENT);
    while (segments.asked.length < 2) await nextTurn();
    roller.note(6001);
    await nextTurn();
    expect(segments.asked).toEqual([602, 6000]);
  });

  it('looks for nothing to seal until another segment is full', async () => {
    const segments = slowSegments();
    const roller = new Roller(segments, SEGMENT);
    roller.note(10);
    await nextTurn();
    segments.ends[0]?.resolve(0);
    await roller.idle();
    for (let seq = 11; seq < 2 * SEGMENT; seq += 1) roller.note(seq);
    await nextTurn();
    expect(segments.asked).toEqual([10]);
    roller.note(2 * SEGMENT);
    await nextTurn();
    expect(segments.asked).toEqual([10, 2 * SEGMENT]);
  });

  it('goes on when sealing fails, and shows the error at the end', async () => {
    const segments = slowSegments();
    const roller = new Roller(segments, SEGMENT);
    roller.note(600);
    await nextTurn();
    segments.ends[0]?.reject(new Error('the disk is full'));
    await roller.idle();
    roller.note(600 + SEGMENT);
    await nextTurn();
    expect(segments.asked).toEqual([600, 600 + SEGMENT]);
    segments.ends[1]?.reject(new Error('the disk is full'));
    const ending = roller.finish(900);
    while (segments.ends.length < 3) await nextTurn();
    segments.ends[2]?.reject(new Error('the disk is full'));
    await expect(ending).rejects.toThrow('the disk is full');
  });
});
