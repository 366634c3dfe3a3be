import { digestBytes } from '../core/digest.ts';
import type { Tool } from '../core/tool.ts';
import type { EntityJson, TypeAndId } from './cedar.ts';
import { type InputPlan, planInput, printType } from './input-type.ts';
import { schemaFor } from './schema.ts';

/** The schema that a request is judged under; the name is the same for tools whose inputs have one type. */
export type SchemaRef = { readonly name: string; readonly text: string };

/** A tool as policies see it. */
export type ToolView = {
  readonly uid: TypeAndId;
  readonly entity: EntityJson;
  readonly plan: InputPlan & { kind: 'record' };
  readonly schema: SchemaRef;
};

const views: WeakMap<Tool, ToolView> = new WeakMap();

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
  const text = schemaFor(printType(plan));
  const attrs = { risk: tool.risk, tier: tool.tier, capabilities: [...tool.capabilities] };
  const parents = [{ type: 'Category', id: tool.category }];
  return { uid, entity: { uid, attrs, parents }, plan, schema: { name: digestBytes(text), text } };
}
