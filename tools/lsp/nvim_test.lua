-- Speaks to `cleave lsp` with Neovim's client. To be run by hand:
--   CLEAVE=bazel-bin/tools/cleave nvim --headless --clean -u tools/lsp/nvim_test.lua
local root = vim.fn.fnamemodify(debug.getinfo(1).source:sub(2), ":p:h:h:h")
vim.opt.runtimepath:append(root .. "/tools/editors/vim")
vim.cmd("filetype plugin on | syntax on")
local command = { vim.env.CLEAVE or "cleave", "lsp" }

local path = vim.fn.tempname() .. ".model"
vim.fn.writefile({
  "model Mlp(batch: int = 64) {",
  "    input image: f32[batch, 784];",
  "    input label: i32[batch];",
  "    let h1 = relu(dense(image, 512));",
  "    let logits = dense(h1, 10);",
  "    loss cross_entropy(logits, label);",
  "}",
  "parallel { devices = 4; search = data_parallel; }",
}, path)

local function say(...) io.stdout:write(table.concat({ ... }, " ") .. "\n") end
local function ask(method, position, more)
  local params = vim.tbl_extend("force", { textDocument = vim.lsp.util.make_text_document_params(0) }, more or {})
  if position then params.position = { line = position[1], character = position[2] } end
  local answers = vim.lsp.buf_request_sync(0, "textDocument/" .. method, params, 20000) or {}
  for _, answer in pairs(answers) do
    if answer.err then return "error: " .. answer.err.message end
    return answer.result
  end
  return nil
end

vim.defer_fn(function()
  local ok, problem = pcall(function()
    vim.cmd("edit " .. path)
    say("filetype", vim.bo.filetype, "syntax", vim.b.current_syntax)
    local id = vim.lsp.start_client({ name = "cleave", cmd = command, root_dir = vim.fn.fnamemodify(path, ":h") })
    vim.lsp.buf_attach_client(0, id)
    assert(vim.wait(20000, function() return vim.lsp.get_client_by_id(id) and vim.lsp.get_client_by_id(id).initialized end))
    local verdict
    vim.wait(60000, function()
      verdict = ask("codeLens", nil)
      return type(verdict) == "table" and #verdict > 0
    end, 200)
    say("code lens:", verdict[1].command.title)
    say("hover:", ask("hover", { 3, 9 }).contents.value)
    say("definition:", vim.inspect(ask("definition", { 4, 23 }).range.start))
    say("completion:", #ask("completion", { 3, 14 }).items, "items")
    vim.api.nvim_buf_set_lines(0, 3, 4, false, { "    let h1 = relo(dense(image, 512));" })
    vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 50)
    for _, each in ipairs(vim.diagnostic.get(0)) do
      say("diagnostic:", each.lnum .. ":" .. each.col, each.code, (each.message:gsub("\n", " / ")))
    end
    vim.api.nvim_buf_set_lines(0, 3, 4, false, { "let h1=relu( dense(image,512) );" })
    vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 50)
    if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = 20000 }) else vim.lsp.buf.formatting_sync({}, 20000) end
    say("formatted:", vim.api.nvim_buf_get_lines(0, 3, 4, false)[1])
    vim.api.nvim_win_set_cursor(0, { 4, 8 })
    vim.lsp.buf.rename("hidden")
    vim.wait(20000, function() return vim.api.nvim_buf_get_lines(0, 4, 5, false)[1]:find("hidden") ~= nil end, 50)
    say("renamed:", vim.api.nvim_buf_get_lines(0, 3, 5, false)[1], vim.api.nvim_buf_get_lines(0, 3, 5, false)[2])
  end)
  if not ok then say("FAILED:", tostring(problem)) end
  vim.cmd(ok and "qall!" or "cquit")
end, 10)
