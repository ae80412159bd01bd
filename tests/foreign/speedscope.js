// SPDX-License-Identifier: MIT
// Opens a file in speedscope's page in Chromium and prints as JSON what the page shows of it.
// node speedscope.js CHROMIUM FILE [SCREENSHOT]
"use strict";
const path = require("path");
const { chromium } = require("playwright-core");

(async () => {
  const [executablePath, file, screenshot] = process.argv.slice(2);
  const page_file = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release/index.html");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--allow-file-access-from-files"] });
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 } });
  const errors = [], log = [];
  page.on("pageerror", error => errors.push(String(error)));
  page.on("dialog", dialog => { errors.push(dialog.message()); dialog.dismiss(); });
  page.on("console", message => (message.type() === "error" ? errors : log).push(message.text()));
  await page.goto("file://" + page_file);
  await page.setInputFiles("input[type=file]", file);
  await page.waitForFunction(() => /\(\d+\/\d+\)|Sandwich/.test(document.body.innerText), null, { timeout: 60000 });
  await page.keyboard.press("3"); // the table of functions is text, the charts are not
  await page.waitForFunction(() => document.querySelectorAll("table tr").length > 1, null, { timeout: 30000 });
  const text = await page.evaluate(() => document.body.innerText);
  const rows = await page.evaluate(() => [...document.querySelectorAll("table tr")].map(row => row.innerText));
  if (screenshot)
    await page.screenshot({ path: screenshot });
  console.log(JSON.stringify({ title: await page.title(), text, rows, errors, log }));
  await browser.close();
})().catch(error => { console.error(String(error)); process.exit(1); });
