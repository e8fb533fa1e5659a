// serve.mjs NPM: a browser for the other scripts.
import { serve } from './browser.mjs'

await serve(process.argv[2])
