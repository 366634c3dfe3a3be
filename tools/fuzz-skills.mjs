/**
 * Fuzzes the reader of packages: `node tools/fuzz-skills.mjs [--count N] [--seed S]`. Signed packages are spoiled in
 * their bytes, their files and their signatures; none may be opened as signed, and nothing but a refusal may be thrown.
 */
import { fuzzParts } from './fuzz-parts.mjs';

fuzzParts('skills', { packages: 'packages/gateway/test/skills/package/fuzz/fuzz.ts' });
