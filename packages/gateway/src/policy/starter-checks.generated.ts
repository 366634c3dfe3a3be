/*
 * The check of the starter policies against the tools of every gateway, which is the first work of a new state directory.
 * Written by its test, which makes that check: after a change of a tool, the schema or the policies run `npm run fix`.
 */
import type { Policy } from './policy-set.ts';

export const STARTER_CHECKS: readonly (readonly [key: string, policies: readonly Policy[]])[] = [
  [
    "0cd57be903aaad13564a6b73a2b6654c74d56f1a9f395816b9d79bf6b20adf0a",
    [
      {
        "id": "users-call-tools",
        "file": "10-calls.cedar",
        "effect": "permit",
        "text": "@id(\"users-call-tools\")\npermit (principal is User, action == Action::\"call\", resource)\nwhen { resource.risk == \"low\" || resource.risk == \"medium\" };"
      },
      {
        "id": "agents-call-low-risk-tools",
        "file": "10-calls.cedar",
        "effect": "permit",
        "text": "@id(\"agents-call-low-risk-tools\")\npermit (principal is Agent, action == Action::\"call\", resource)\nwhen { resource.risk == \"low\" };"
      },
      {
        "id": "high-risk-when-approved",
        "file": "10-calls.cedar",
        "effect": "permit",
        "text": "@id(\"high-risk-when-approved\")\npermit (principal, action == Action::\"call\", resource)\nwhen { resource.risk == \"high\" && context.approved };"
      },
      {
        "id": "agents-run-commands-in-the-jail",
        "file": "10-calls.cedar",
        "effect": "permit",
        "text": "@id(\"agents-run-commands-in-the-jail\")\npermit (principal is Agent, action == Action::\"call\", resource == Tool::\"palisade.process.run\")\nwhen { context.tier == \"c\" && context has process && context.process.egress == \"strict\" };"
      },
      {
        "id": "commands-when-approved",
        "file": "10-calls.cedar",
        "effect": "permit",
        "text": "@id(\"commands-when-approved\")\npermit (principal, action == Action::\"call\", resource == Tool::\"palisade.process.run\")\nwhen { context.approved };"
      },
      {
        "id": "commands-outside-the-jail-need-approval",
        "file": "10-calls.cedar",
        "effect": "forbid",
        "text": "@id(\"commands-outside-the-jail-need-approval\")\nforbid (principal, action == Action::\"call\", resource == Tool::\"palisade.process.run\")\nunless { (context.tier == \"c\" && context has process && context.process.egress == \"strict\") || context.approved };"
      },
      {
        "id": "configured-upstream-servers-start",
        "file": "10-calls.cedar",
        "effect": "permit",
        "text": "@id(\"configured-upstream-servers-start\")\npermit (principal, action == Action::\"call\", resource in Category::\"upstream\")\nwhen { resource.capabilities.contains(\"upstream-server\") };"
      },
      {
        "id": "long-sleep-needs-approval",
        "file": "10-calls.cedar",
        "effect": "forbid",
        "text": "@id(\"long-sleep-needs-approval\")\nforbid (principal, action == Action::\"call\", resource == Tool::\"palisade.sleep\")\nwhen { context.input.ms > 10000 }\nunless { context.approved };"
      },
      {
        "id": "users-approve",
        "file": "20-people.cedar",
        "effect": "permit",
        "text": "@id(\"users-approve\")\npermit (principal is User, action == Action::\"approve\", resource);"
      },
      {
        "id": "users-manage-skills",
        "file": "20-people.cedar",
        "effect": "permit",
        "text": "@id(\"users-manage-skills\")\npermit (principal is User, action in Action::\"manageSkills\", resource);"
      },
      {
        "id": "users-read-the-journal",
        "file": "20-people.cedar",
        "effect": "permit",
        "text": "@id(\"users-read-the-journal\")\npermit (principal is User, action == Action::\"readJournal\", resource);"
      },
      {
        "id": "users-administer",
        "file": "20-people.cedar",
        "effect": "permit",
        "text": "@id(\"users-administer\")\npermit (principal is User, action == Action::\"administer\", resource);"
      },
      {
        "id": "no-cloud-metadata",
        "file": "30-guards.cedar",
        "effect": "forbid",
        "text": "@id(\"no-cloud-metadata\")\nforbid (principal, action == Action::\"call\", resource)\nwhen { context.hosts.containsAny([\"169.254.169.254\", \"metadata.google.internal\"]) };"
      }
    ]
  ]
];
