import type { Words } from ".";
import { common } from "./ja/common";
import { shell } from "./ja/shell";
import { wall } from "./ja/wall";
import { incidents } from "./ja/incidents";
import { incident } from "./ja/incident";
import { why } from "./ja/why";
import { signin } from "./ja/signin";
import { monitor } from "./ja/monitor";
import { deliveries } from "./ja/deliveries";
import { register } from "./ja/register";
import { settings } from "./ja/settings";

export const ja: Words = { common, shell, wall, incidents, incident, why, signin, monitor, settings, deliveries, register };
