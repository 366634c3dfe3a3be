import { anyText, list, literal, object, orNull, record, type Shaped, whole } from '../../core/json-shape.ts';
import { anything, choice, flag, type Shape } from '../../core/shape.ts';
import type { JsonSchema, ToolAnnotations } from '../../core/tool.ts';
import { ASKS } from '../capabilities/kinds.ts';

/*
 * What a skill says of itself in skill.toml, read and checked; the shapes are also those in which it is kept. It is a
 * request: what the operator approved is the grant, and nothing here gives anything.
 */

const schema = record(anything) as Shape<JsonSchema>;
const annotations: Shape<ToolAnnotations> = object({
  readOnly: flag,
  destructive: flag,
  idempotent: flag,
  openWorld: flag,
});

const TOOL = object({
  /** Without the id of the skill in front. */
  id: anyText,
  /** What people call it. */
  name: anyText,
  description: anyText,
  risk: choice(['low', 'medium', 'high']),
  /** The path of its module in the package. */
  module: anyText,
  /** The export of a module, or the name that a component knows the tool by. */
  export: anyText,
  inputSchema: schema,
  outputSchema: schema,
  annotations,
});

const COMPONENT = object({
  name: anyText,
  version: anyText,
  /** Its package URL. */
  purl: orNull(anyText),
  license: orNull(anyText),
});

const BUILD = object({
  language: choice(['assemblyscript', 'c', 'go', 'javascript', 'python', 'rust']),
  /** Which source makes which module; both are paths below the folder of the skill. */
  modules: list(object({ source: anyText, module: anyText })),
});

export const MANIFEST = object({
  /** `publisher.name`, also the beginning of the ids of its tools. */
  id: anyText,
  name: anyText,
  version: anyText,
  publisher: anyText,
  description: anyText,
  license: orNull(anyText),
  homepage: orNull(anyText),
  tools: list(TOOL),
  asks: ASKS,
  /** The most that a call of the skill requests; null: the gateway's default. */
  quotas: object({ wallMs: orNull(whole), fuel: orNull(whole), memoryBytes: orNull(whole) }),
  /** How many different people must approve it, and after how many days it is audited again at the latest. */
  trust: object({ reviewers: whole, reauditDays: orNull(whole) }),
  /** The oldest palisade it runs on. */
  compat: object({ abi: literal(1), palisadeMin: orNull(anyText) }),
  /** The parts it was made of, for its bill of materials. */
  components: list(COMPONENT),
  build: orNull(BUILD),
});

export type Manifest = Shaped<typeof MANIFEST>;
export type ManifestTool = Shaped<typeof TOOL>;
export type ManifestComponent = Shaped<typeof COMPONENT>;
export type ManifestBuild = Shaped<typeof BUILD>;
