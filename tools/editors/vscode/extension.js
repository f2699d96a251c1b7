// Starts `cleave lsp` for model files.
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function start() {
  const settings = vscode.workspace.getConfiguration("cleave");
  const server = {
    command: settings.get("command"),
    args: ["lsp", ...settings.get("arguments")],
    transport: TransportKind.stdio,
  };
  client = new LanguageClient("cleave", "Cleave", server, {
    documentSelector: [{ language: "cleave" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.model") },
  });
  return client.start();
}

async function restart() {
  if (client) await client.stop();
  await start();
}

exports.activate = async (context) => {
  context.subscriptions.push(vscode.commands.registerCommand("cleave.restart", restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("cleave")) restart();
    }),
  );
  await start();
};

exports.deactivate = () => client && client.stop();
