import type { Tool } from './define-tool.ts';
import { editFileTool } from './edit-file.ts';
import { grepTool } from './grep.ts';
import { listFilesTool } from './list-files.ts';
import { readFileTool } from './read-file.ts';
import { type ShellOptions, shellTool } from './shell.ts';
import { type WebFetchOptions, webFetchTool } from './web-fetch.ts';
import { Workspace, type WorkspaceOptions } from './workspace.ts';
import { writeFileTool } from './write-file.ts';

export interface WorkspaceToolsOptions extends WorkspaceOptions {
  shell?: ShellOptions | undefined;
  web?: WebFetchOptions | undefined;
}

/**
 * The seven workspace tools for one working folder. They hold no state of a session: sessions with
 * the same folder can share a set, one with another folder needs its own.
 * @example
 * const tools = workspaceTools({ cwd: process.cwd(), readable: () => library.skills.map((skill) => skill.folder) });
 */
export function workspaceTools(options: WorkspaceToolsOptions): Tool[] {
  const workspace = new Workspace(options);
  return [
    readFileTool(workspace),
    listFilesTool(workspace),
    grepTool(workspace),
    writeFileTool(workspace),
    editFileTool(workspace),
    shellTool(workspace, options.shell),
    webFetchTool(options.web),
  ] as Tool[];
}
