// SPDX-License-Identifier: MIT
// Builds @tracerbench/trace-model's model of a Chrome JSON file and prints what is in it as JSON.
"use strict";
const fs = require("fs");
const { buildModel } = require("@tracerbench/trace-model");

const model = buildModel(JSON.parse(fs.readFileSync(process.argv[2], "utf8")));
console.log(JSON.stringify(model.processes.map(process => ({
  name: process.name,
  threads: process.threads.map(thread => ({
    name: thread.name,
    spans: thread.events.filter(event => event.isComplete()).map(event => ({ name: event.name, start: event.start, end: event.end })),
  })),
}))));
