package addr

// RedZone is how many bytes below the stack pointer a function may keep data in (System V ABI, AMD64 supplement, section 3.2.2).
const RedZone = 128
