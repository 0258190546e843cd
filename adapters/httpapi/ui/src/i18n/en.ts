import { common } from "./en/common";
import { shell } from "./en/shell";
import { wall } from "./en/wall";
import { incidents } from "./en/incidents";
import { incident } from "./en/incident";
import { why } from "./en/why";
import { signin } from "./en/signin";
import { monitor } from "./en/monitor";
import { deliveries } from "./en/deliveries";
import { register } from "./en/register";
import { settings } from "./en/settings";

export const en = { common, shell, wall, incidents, incident, why, signin, monitor, settings, deliveries, register };
