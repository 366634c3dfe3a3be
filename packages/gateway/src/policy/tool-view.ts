import { digestBytes } from '../core/digest.ts';
import type { Tool } from '../core/tool.ts';
import type { EntityJson, TypeAndId } from './cedar.ts';
import { type InputPlan, planInput, printType } from './input-type.ts';
import { EVERYTHING, type Reads } from './reads.ts';
import { callSchemaFor, schemaFor } from './schema.ts';
import { skillEntity } from './skill-act.ts';

/** The schema that a request is judged under; the name is the same wherever the text is. */
export type SchemaRef = {
  readonly name: string;
  readonly text: string;
  /** The attributes of a call that it has words for. */
  readonly tells: Reads;
};

/** A tool as policies see it. */
export type ToolView = {
  readonly uid: TypeAndId;
  readonly entity: EntityJson;
  /** The skill that it belongs to, which a question gives beside it; null where there is none. */
  readonly skill: EntityJson | null;
  readonly plan: InputPlan & { kind: 'record' };
  readonly inputType: string;
  /** The whole schema, with every action and every attribute. */
  readonly schema: SchemaRef;
};

const views: WeakMap<Tool, ToolView> = new WeakMap();
const callSchemas: WeakMap<Reads, WeakMap<ToolView, SchemaRef>> = new WeakMap();

/** Gives the view of a tool, made once for each tool record. */
export function viewTool(tool: Tool): ToolView {
  let view = views.get(tool);
  if (view === undefined) {
    view = makeView(tool);
    views.set(tool, view);
  }
  return view;
}

function makeView(tool: Tool): ToolView {
  const uid = { type: 'Tool', id: tool.id };
  const plan = planInput(tool.inputSchema);
  const inputType = printType(plan);
  const schema = refTo(schemaFor(inputType), EVERYTHING);
  const skill = tool.skill === undefined ? null : skillEntity(tool.skill);
  return { uid, entity: entityOf(tool, uid), skill, plan, inputType, schema };
}

function entityOf({ risk, tier, capabilities, category, skill }: Tool, uid: TypeAndId): EntityJson {
  const attrs = { risk, tier, capabilities: [...capabilities] };
  const parents = [{ type: 'Category', id: category }];
  if (skill === undefined) return { uid, attrs, parents };
  const its = { type: 'Skill', id: skill.id };
  return { uid, attrs: { ...attrs, skill: { __entity: its } }, parents: [...parents, its] };
}

/** A schema by the digest of its text, so that no two texts ever share a name. */
export function refTo(text: string, tells: Reads): SchemaRef {
  return { name: digestBytes(text), text, tells };
}

/** The schema for a call of this tool that tells what is read and nothing else; made once for each set and tool. */
export function callSchemaOf(view: ToolView, reads: Reads): SchemaRef {
  if (reads === EVERYTHING) return view.schema;
  let schemas = callSchemas.get(reads);
  if (schemas === undefined) {
    schemas = new WeakMap();
    callSchemas.set(reads, schemas);
  }
  let schema = schemas.get(view);
  if (schema === undefined) {
    schema = refTo(callSchemaFor(view.inputType, reads), reads);
    schemas.set(view, schema);
  }
  return schema;
}
