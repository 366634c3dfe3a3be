/** Spoils signed packages and looks whether one is opened as signed all the same. */
import { CodedError } from '../../../../src/core/coded-error.ts';
import { readArchive } from '../../../../src/skills/package/archive.ts';
import { openPackage } from '../../../../src/skills/package/open-package.ts';
import { packSkill, signPackage } from '../../../../src/skills/package/pack.ts';
import { PACKAGE_FILES, type SkillPackage } from '../../../../src/skills/package/skill-package.ts';
import { randomFrom } from '../../../egress/fuzz/random.ts';
import { keyFrom, PALISADE, sampleFiles } from '../sample.ts';
import { spoilBytes, spoilFiles, spoilSignature, type Victim } from './mutate.ts';

export type Report = {
  cases: number;
  /** Spoilings that left every byte as it was. */
  unchanged: number;
  /** Opened with no signer: whoever takes a signature away has an unsigned package, and no more. */
  unsigned: number;
  /** Refusals by their codes. */
  readonly refused: Record<string, number>;
  readonly findings: string[];
};

type Open = (bytes: Uint8Array) => SkillPackage;

const MOST_FINDINGS = 20;
const CODES: ReadonlySet<string> = new Set([
  'skill/invalid-package',
  'skill/invalid-manifest',
  'skill/bad-signature',
]);

/** Runs so many cases, or stops at the first findings. The same seed gives the same cases. */
export function fuzz(seed: number, count: number, open: Open = openPackage): Report {
  const random = randomFrom(seed);
  const victim = makeVictim();
  const report: Report = { cases: 0, unchanged: 0, unsigned: 0, refused: {}, findings: [] };
  const ways = [spoilBytes, spoilBytes, spoilBytes, spoilFiles, spoilFiles, spoilSignature];
  while (report.cases < count && report.findings.length < MOST_FINDINGS) {
    report.cases += 1;
    tryOne(report, victim, random.pick(ways)(random, victim), open);
  }
  return report;
}

/** No more files than a skill needs, so that more cases fit in a second. */
function makeVictim(): Victim {
  const key = keyFrom(1);
  const files = [...sampleFiles()].filter(([path]) => !/^(src|tests|package-lock)/.test(path));
  const bytes = signPackage(packSkill(new Map(files), { palisade: PALISADE }), key);
  const entries = readArchive(bytes);
  const envelope = JSON.parse(Buffer.from(entries.get(PACKAGE_FILES.signature) ?? []).toString());
  return { bytes, entries, envelope, key, strangers: [keyFrom(2), keyFrom(3)] };
}

function tryOne(report: Report, victim: Victim, bytes: Uint8Array, open: Open): void {
  const isSame = Buffer.compare(bytes, victim.bytes) === 0;
  if (isSame) report.unchanged += 1;
  const where = `case ${report.cases}`;
  try {
    const { signer } = open(bytes);
    if (signer === null) report.unsigned += 1;
    else if (!isSame) report.findings.push(`${where} was opened as signed by ${signer.keyId}`);
  } catch (error) {
    if (!(error instanceof CodedError) || !CODES.has(error.code)) {
      report.findings.push(`${where} made it throw ${error}`);
    } else if (isSame) report.findings.push(`${where} is unharmed and was refused: ${error.message}`);
    else report.refused[error.code] = (report.refused[error.code] ?? 0) + 1;
  }
}
