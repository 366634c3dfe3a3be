import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type {
  ApproveRequest,
  AuditRequest,
  ChangeRequest,
  RollbackRequest,
  SkillPage,
  SkillState,
  SkillSummary,
} from '../wire.ts';

export type SkillsAsked = PageAsked & { readonly state?: SkillState | undefined };

/** One version; left out: the one that runs, else the newest. */
export type OfVersion = { readonly version?: string | undefined };

export type InstallAsked = { readonly allowDowngrade?: boolean | undefined };

type ChangeName = 'quarantineSkill' | 'enableSkill' | 'disableSkill' | 'revokeSkill';

/** Skills: what is installed, what is done with it, and what of it may run. */
export function makeSkills(send: Sender) {
  const change =
    (name: ChangeName) =>
    (id: string, body: ChangeRequest = {}, options?: RequestOptions) =>
      send.json(name, { params: { id }, body, options });
  return {
    ...pagesOf<SkillsAsked, SkillPage, SkillSummary>(
      (query, options) => send.json('listSkills', { query, options }),
      ({ skills }) => skills,
    ),
    get: (id: string, query?: OfVersion, options?: RequestOptions) =>
      send.json('getSkill', { params: { id }, query, options }),
    /** Takes a signed package in. Whatever it is, it ends in quarantine. */
    install: (body: Uint8Array | Blob, query?: InstallAsked, options?: RequestOptions) =>
      send.json('installSkill', { body, query, options }),
    /** The very bytes of an installed package. */
    package: (id: string, query?: OfVersion, options?: RequestOptions) =>
      send.bytes('getSkillPackage', { params: { id }, query, options }),
    /** What one version has that another does not. */
    diff: (id: string, query?: { readonly from?: string; readonly to?: string }, options?: RequestOptions) =>
      send.json('compareSkill', { params: { id }, query, options }),
    audit: (id: string, body: AuditRequest = {}, options?: RequestOptions) =>
      send.json('auditSkill', { params: { id }, body, options }),
    approve: (id: string, body: ApproveRequest, options?: RequestOptions) =>
      send.json('approveSkill', { params: { id }, body, options }),
    rollback: (id: string, body: RollbackRequest = {}, options?: RequestOptions) =>
      send.json('rollbackSkill', { params: { id }, body, options }),
    quarantine: change('quarantineSkill'),
    enable: change('enableSkill'),
    disable: change('disableSkill'),
    /** For good: these very bytes never run again. */
    revoke: change('revokeSkill'),
    remove: (id: string, query?: ChangeRequest, options?: RequestOptions) =>
      send.json('removeSkill', { params: { id }, query, options }),
  };
}
