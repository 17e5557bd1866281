// Where the page's modules are, and how node finds those that they import by the names of the page's import map.
import { register } from "node:module";

export const web = new URL("../../src/poise/viewer/web/", import.meta.url);
const resolve = `export const resolve = (name, context, next) =>
  next(name.startsWith("poise/") ? name.replace("poise/", ${JSON.stringify(`${web}js/`)}) : name, context);`;
register(`data:text/javascript,${encodeURIComponent(resolve)}`);
