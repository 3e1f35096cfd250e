import type { Views } from '../../server/views.ts';
import { exportHtml } from '../session/export-html.ts';
import { sessionJson } from '../session/session-json.ts';
import { summaryJson } from '../session/summary-json.ts';
import { treeJson } from '../session/tree.ts';
import { SessionWatch } from '../session/watch.ts';
import { skillJson } from '../skills.ts';

/** What the server answers is what the commands print. */
export const views: Views = {
  summary: (summary) => summaryJson(summary),
  session: ({ summary, events }) => sessionJson(summary, events),
  tree: async (store, summary) => {
    const watch = new SessionWatch(store, summary);
    await watch.look();
    return treeJson(watch);
  },
  skill: skillJson,
  page: (session, surroundings) => exportHtml([session], surroundings),
};
