// dhat.mjs NPM VIEWER FILE...: what valgrind's DHAT viewer shows of each file, as
// a JSON list of its text by sort metric.
import { pathToFileURL } from 'node:url'
import { browse } from '../../testprogs/node/browser.mjs'

const [npm, viewer, ...files] = process.argv.slice(2)
const url = pathToFileURL(viewer).href
const shown = await browse(npm, url, async page => {
  const shown = []
  for (const file of files) {
    await page.goto(url)
    await page.setInputFiles('input[type=file]', file)
    await page.waitForFunction(() => /significance threshold|rror/.test(document.body.innerText))
    const texts = {}
    for (const label of await page.$$eval('option:not([disabled])', options => options.map(o => o.label))) {
      await page.selectOption('select', { label })
      texts[label] = await page.evaluate(() => gMainDiv.innerText)
    }
    shown.push(texts)
  }
  return shown
})
console.log(JSON.stringify(shown))
