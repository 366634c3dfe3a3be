import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Keys } from '../packages/gateway/src/attest/keys.ts';
import { makeId } from '../packages/gateway/src/core/clock.ts';
import { invoke } from '../packages/gateway/src/invoke/invoke.ts';
import { journalMigrations, readHead } from '../packages/gateway/src/journal/head.ts';
import { type Draft, Journal, Roller } from '../packages/gateway/src/journal/journal.ts';
import { recordsFrom } from '../packages/gateway/src/journal/search.ts';
import { Segments } from '../packages/gateway/src/journal/segments.ts';
import { systemClock, systemRandom } from '../packages/gateway/src/open.ts';
import { Store } from '../packages/gateway/src/store/store.ts';
import { echoCall, never, openBed } from './bed.ts';
import { BareLog } from './disk.ts';
import { type BenchOptions, type Figure, single, spreadOf, timeOf } from './measure.ts';

/*
 * Durable appends of the record that ends a call, as the line writes it, 256 at a time. First against the bare disk: one
 * record appended to a file and flushed, again and again. Then against itself: a journal that is young and one that is
 * old take the same records in turns; what a chunk of records leaves to seal is sealed within its time.
 */

const AT_ONCE = 256;
const FILL_AT_ONCE = 4096;
/** The defaults of palisade.toml. */
const [SEGMENT_RECORDS, CHECKPOINT_RECORDS, CHECKPOINT_MS] = [65_536, 1024, 1000];
/** Ten chunks take either journal past the end of one segment, and of one only. */
const [CHUNK, CHUNKS] = [13_056, 10];
const YOUNG = 1000;
/** The first ends of a segment beyond a million and a hundred thousand records; what is full then is sealed. */
const [OLD, QUICK_OLD] = [16 * SEGMENT_RECORDS, 2 * SEGMENT_RECORDS];

export async function run({ quick, scratch }: BenchOptions): Promise<Figure[]> {
  const { draft, line } = await sampleEnding(scratch);
  const against = await againstDisk(scratch, draft, { line, rounds: quick ? 15 : 60 });
  return [...against, ...(await againstItself(scratch, draft, quick ? QUICK_OLD : OLD))];
}

async function againstDisk(
  scratch: string,
  draft: Draft,
  { line, rounds }: { line: string; rounds: number },
) {
  const bed = new Bed(scratch, draft);
  const bare = new BareLog(scratch, line);
  await bed.append(4 * AT_ONCE);
  const [ours, disk, ratios]: number[][] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    const bareRate = 1000 / (await timeOf(100, () => bare.append()));
    const startedMs = performance.now();
    await bed.append(4 * AT_ONCE);
    const ourRate = (4 * AT_ONCE) / ((performance.now() - startedMs) / 1000);
    ours?.push(ourRate);
    disk?.push(bareRate);
    ratios?.push(ourRate / bareRate);
  }
  bare.close();
  await bed.close();
  const figures: Figure[] = [
    {
      name: 'journal appends / bare append + fdatasync',
      unit: 'x',
      spread: spreadOf(ratios ?? []),
      goal: { atLeast: 4 },
    },
    { name: `journal appends, ${AT_ONCE} at a time`, unit: 'per s', spread: spreadOf(ours ?? []) },
    { name: 'bare append + fdatasync', unit: 'per s', spread: spreadOf(disk ?? []) },
    { name: 'record', unit: 'bytes', spread: single(Buffer.byteLength(line)) },
  ];
  return figures;
}

async function againstItself(scratch: string, draft: Draft, old: number): Promise<Figure[]> {
  const [youngBed, oldBed] = [new Bed(scratch, draft), new Bed(scratch, draft)];
  await oldBed.fill(old);
  await youngBed.fill(YOUNG);
  const before = [youngBed.segments, oldBed.segments];
  const times: { young: number; old: number }[] = [];
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    const first = chunk % 2 === 0 ? await youngBed.timeChunk() : null;
    const middle = await oldBed.timeChunk();
    times.push({ young: first ?? (await youngBed.timeChunk()), old: middle });
  }
  const seals = [youngBed.segments, oldBed.segments].map((count, i) => count - (before[i] ?? 0));
  if (seals.some((count) => count !== 1)) throw new Error(`Cannot compare: seals are ${seals}, expected 1,1`);
  await youngBed.close();
  await oldBed.close();
  const sum = (key: 'young' | 'old') => times.reduce((total, each) => total + each[key], 0);
  const spread = spreadOf(times.map((each) => each.old / each.young));
  const per = (key: 'young' | 'old') => spreadOf(times.map((each) => CHUNK / (each[key] / 1000)));
  const names = [`at ${YOUNG.toLocaleString('en-US')} records`, `at ${old.toLocaleString('en-US')} records`];
  const figures: Figure[] = [
    {
      name: `append ${names[1]} / ${names[0]}`,
      unit: 'x',
      spread: { ...spread, median: sum('old') / sum('young') },
      goal: { atMost: 1.2 },
      note: `all ${CHUNKS * CHUNK} appends, seals included; spread over chunks`,
    },
    { name: 'the same, median of chunks', unit: 'x', spread },
    { name: `appends ${names[0]}`, unit: 'per s', spread: per('young') },
    { name: `appends ${names[1]}`, unit: 'per s', spread: per('old') },
  ];
  return figures;
}

/** A journal on a state directory of its own, wired as daemon.ts does it. */
class Bed {
  readonly #store: Store;
  readonly #journal: Journal;
  readonly #segments: Segments;
  readonly #roller: Roller;
  readonly #draft: Draft;

  constructor(scratch: string, draft: Draft) {
    const directory = mkdtempSync(join(scratch, 'journal-'));
    const nowMs = systemClock.nowMs();
    this.#draft = draft;
    this.#store = new Store({ directory, migrations: journalMigrations, busyTimeoutMs: 10_000, nowMs });
    this.#segments = new Segments(this.#store, makeId('p', nowMs, systemRandom));
    this.#roller = new Roller(this.#segments, SEGMENT_RECORDS);
    const keys = new Keys(join(directory, 'keys'));
    keys.createFirst(nowMs);
    this.#journal = new Journal({
      signer: keys,
      nowMs: systemClock.nowMs,
      redact: (value) => value,
      checkpointEveryRecords: CHECKPOINT_RECORDS,
      checkpointAfterMs: CHECKPOINT_MS,
      maxBehindMs: 60_000,
      onGrown: (seq) => this.#roller.note(seq),
    });
  }

  /** How many segments are sealed. */
  get segments(): number {
    return this.#segments.shelves().length - 1;
  }

  /** Appends durably, as many calls at once as one commit takes. */
  async append(count: number): Promise<void> {
    for (let done = 0; done < count; done += AT_ONCE) {
      const works = Array.from({ length: AT_ONCE }, () =>
        this.#store.commit((tx) => this.#journal.append(tx, this.#next())),
      );
      await Promise.all(works);
    }
  }

  async timeChunk(): Promise<number> {
    const startedMs = performance.now();
    await this.append(CHUNK);
    await this.#roller.idle();
    return performance.now() - startedMs;
  }

  /** Grows the journal to `size` records in large transactions, rolling on the way. */
  async fill(size: number): Promise<void> {
    for (let seq = readHead(this.#store).seq; seq < size; seq = readHead(this.#store).seq) {
      const count = Math.min(FILL_AT_ONCE, size - seq);
      await this.#store.commit((tx) => {
        for (let i = 0; i < count; i += 1) this.#journal.append(tx, this.#next());
      });
      // Sealing must keep up, or the old journal would have a live table that no gateway ever has.
      if (seq % SEGMENT_RECORDS < FILL_AT_ONCE) await this.#roller.idle();
    }
    await this.#roller.idle();
  }

  async close(): Promise<void> {
    await this.#roller.idle();
    this.#segments.close();
    this.#store.close();
  }

  #next(): Draft {
    return { ...this.#draft, call: makeId('call', systemClock.nowMs(), systemRandom) };
  }
}

/** The record that ended a real call, to be written again and again under other call ids. */
async function sampleEnding(scratch: string): Promise<{ draft: Draft; line: string }> {
  const gateway = await openBed(scratch);
  try {
    const { callId } = await invoke(gateway, echoCall(), never());
    for (const { call, kind, principal, tool, tenant, line } of recordsFrom(gateway.segments, 1)) {
      if (call !== callId || kind !== 'ended') continue;
      const { body } = JSON.parse(line) as Pick<Draft, 'body'>;
      return { draft: { kind, call, principal, tool, tenant, body }, line };
    }
  } finally {
    await gateway.close();
  }
  throw new Error('Cannot measure journal: the call left no ending');
}
