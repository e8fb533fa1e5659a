// speedscope.mjs NPM DIR FILE...: what speedscope shows of each file, as a JSON
// list of the text of its Sandwich view for each profile of the file. DIR is for
// files of its own. A file of speedscope's format is held against its schema.
import { createRequire } from 'node:module'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { browse } from '../../testprogs/node/browser.mjs'

const [npm, dir, ...files] = process.argv.slice(2)
const release = path.join(npm, 'node_modules/speedscope/dist/release')
const Ajv = createRequire(path.join(npm, 'package.json'))('ajv')
const schema = JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json')))
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema)
for (const file of files.filter(f => f.endsWith('.speedscope.json'))) {
  if (!validate(JSON.parse(fs.readFileSync(file)))) throw new Error(JSON.stringify(validate.errors, null, 1))
}

// As speedscope's own command line has it: a script beside the page loads the file.
const script = path.join(dir, 'load.js')
const url = `${pathToFileURL(path.join(release, 'index.html')).href}#localProfilePath=${script}`
const shown = await browse(npm, 'about:blank', async page => {
  const shown = []
  for (const file of files) {
    const content = fs.readFileSync(file).toString('base64')
    fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, ${JSON.stringify(content)})`)
    await page.goto('about:blank')
    await page.goto(url)
    await page.waitForFunction(() => /Sandwich/.test(document.body.innerText))
    await page.keyboard.press('3')
    await page.waitForFunction(() => /Symbol Name/.test(document.body.innerText))
    // Rows come some frames after what is around them; a profile of nothing has none.
    const text = () => page.evaluate(() => new Promise(done => {
      let frames = 0
      const look = () => {
        if (/%\)/.test(document.body.innerText) || ++frames > 30) done(document.body.innerText)
        else requestAnimationFrame(look)
      }
      look()
    }))
    const texts = [await text()]
    const [, first, count] = (/\((\d+)\/(\d+)\)/.exec(texts[0]) || [0, 1, 1]).map(Number)
    for (let i = first + 1; i <= count; i++) {
      await page.keyboard.press('n')
      await page.waitForFunction(at => document.body.innerText.includes(at), `(${i}/${count})`)
      texts.push(await text())
    }
    shown.push(texts)
  }
  return shown
})
console.log(JSON.stringify(shown))
