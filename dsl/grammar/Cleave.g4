// The grammar of `.model` files (docs/language.md is its reference).
//
// Reading guide. A file is a list of items; bodies are lists of statements; an expression climbs from `||` over `&&`,
// comparison, sum, product, prefix, power and suffix to primary. Chains (`a + b + c`, `f(x)(y)`, `- - x`, `else if`) are loops, not
// recursion, so only brackets and blocks nest, and dsl/parse bounds those before the parser runs.
//
// Words. Only `fn let mut for if else return true false with` are reserved. The other words of the language stand in `name` too, and
// mean something only where the rules ask for them. Every decision is settled by one token, or by two where such a word
// may also be a name and behind `else`: that keeps the parser fast and lets dsl/parse say exactly what was expected.
//
// Some rules take more than the language allows, because the mistake is told better from the tree than by the parser: the
// name of an argument is any expression here, and dsl/parse asks for a name.
grammar Cleave;

file : item* EOF ;

item : attribute* ( import_ | record | model | function | opDefinition | train | parallel | expect ) ;

import_ : IMPORT STRING SEMICOLON ;

record : RECORD name LBRACE field* RBRACE ;

field : name COLON type ( ASSIGN expression )? SEMICOLON ;

model : MODEL name parameters? block ;

function : FN name parameters ( ARROW results )? block ;

// Several results are a tuple.
results : type | LPAREN type ( COMMA type )+ COMMA? RPAREN ;

opDefinition : OP name parameters ( ARROW type )? LBRACE setting* RBRACE ;

train : TRAIN name LBRACE setting* RBRACE ;

parallel : PARALLEL LBRACE entry* RBRACE ;

entry : pin | setting ;

// What the plan must keep: bounds, which are comparisons, and layouts.
expect : EXPECT LBRACE expectation* RBRACE ;

expectation : expression ( ASSIGN expression )? SEMICOLON ;

setting : name ASSIGN value SEMICOLON ;

pin : PIN STRING ASSIGN attributeBody SEMICOLON ;

parameters : LPAREN ( parameter ( COMMA parameter )* COMMA? )? RPAREN ;

parameter : name COLON type ( ASSIGN expression )? ;

type : name ( LBRACKET ( dimension ( COMMA dimension )* COMMA? )? RBRACKET )? ;

dimension : RANGE name | expression ;

attribute : HASH LBRACKET attributeBody RBRACKET ;

attributeBody : name ( LPAREN ( argument ( COMMA argument )* COMMA? )? RPAREN )? ;

argument : value ( ASSIGN value )? ;

// A map stands only where a value is given to something, so that `{` after an expression always opens a body.
value : expression | map ;

block : LBRACE statement* RBRACE ;

statement
    : attribute*
      ( input
      | param
      | let
      | forLoop
      | conditional
      | loss
      | metric
      | returnStatement
      | print
      | assertFinite
      | update
      | assignment
      | evaluation
      )
    ;

// With a file it has no batch.
input : INPUT name COLON type ( ASSIGN expression )? SEMICOLON ;

// `state` has the form of `param`, and is not trained.
param : ( PARAM | STATE ) name COLON type ASSIGN expression SEMICOLON ;

let : LET MUT? ( name ( COLON type )? | nameTuple ) ASSIGN expression SEMICOLON ;

nameTuple : LPAREN elementName ( COMMA elementName )+ COMMA? RPAREN ;

elementName : name | WILDCARD ;

// Over whole numbers, or over the elements of a tuple.
forLoop : FOR name IN expression ( RANGE expression )? block ;

conditional : IF expression block ( ELSE IF expression block )* ( ELSE block )? ;

loss : LOSS expression SEMICOLON ;

metric : METRIC expression SEMICOLON ;

returnStatement : RETURN expression SEMICOLON ;

print : PRINT LPAREN LOCAL? looked RPAREN SEMICOLON ;

assertFinite : ASSERT_FINITE LPAREN looked RPAREN SEMICOLON ;

// `w.grad`: a value's gradient, or what the optimizer keeps of a parameter. It reads as a field of a record does, and dsl/parse
// tells them apart.
looked : expression ;

// `update mean = 0.9 * mean + 0.1 * batch_mean;`: what a state is after the step.
update : UPDATE name ASSIGN expression SEMICOLON ;

assignment : ( name | nameTuple ) ASSIGN expression SEMICOLON ;

// `send(x, 1);`: a call for its effect. With `=` it is a mistake that dsl/parse explains: only names are assigned.
evaluation : NAME suffix+ ( ASSIGN expression )? SEMICOLON ;

expression : conjunction ( OR conjunction )* ;

conjunction : relation ( AND relation )* ;

relation : sum ( comparison sum )? ;

comparison : EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL ;

sum : product ( ( PLUS | MINUS ) product )* ;

product : prefixed ( ( STAR | SLASH | PERCENT ) prefixed )* ;

prefixed : prefix* power ;

prefix : MINUS | NOT | attribute ;

// `-x ** 2` is -(x ** 2), and `2 ** -n` and `a ** b ** c` are 2 ** (-n) and a ** (b ** c).
power : suffixed ( POWER prefixed )? ;

suffixed : primary suffix* ;

suffix
    : LPAREN ( argument ( COMMA argument )* COMMA? )? RPAREN
    | LBRACKET subscript ( COMMA subscript )* COMMA? RBRACKET
    | PART
    | WITH LPAREN ( argument ( COMMA argument )* COMMA? )? RPAREN
    ;

subscript
    : RANGE expression? ( RANGE expression )?
    | expression ( RANGE expression? ( RANGE expression )? )?
    ;

primary
    : INTEGER
    | FLOAT
    | SIZE
    | TIME
    | STRING
    | TRUE
    | FALSE
    | WILDCARD
    | name
    | layer
    | parenthesized
    ;

// `layer dense(8)`: a call that waits for its tensors. A `layer` before anything but a name is a name.
layer : LAYER name LPAREN ( argument ( COMMA argument )* COMMA? )? RPAREN ;

parenthesized : LPAREN ( argument ( COMMA argument )* COMMA? )? RPAREN ;

map : LBRACE ( mapEntry ( COMMA mapEntry )* COMMA? )? RBRACE ;

mapEntry : STRING COLON value ;

name
    : NAME
    | ASSERT_FINITE
    | EXPECT
    | IMPORT
    | IN
    | INPUT
    | LAYER
    | LOCAL
    | LOSS
    | METRIC
    | MODEL
    | OP
    | PARALLEL
    | PARAM
    | PIN
    | PRINT
    | RECORD
    | STATE
    | TRAIN
    | UPDATE
    ;

FN : 'fn' ;
LET : 'let' ;
MUT : 'mut' ;
FOR : 'for' ;
IF : 'if' ;
ELSE : 'else' ;
RETURN : 'return' ;
TRUE : 'true' ;
FALSE : 'false' ;
WITH : 'with' ;

ASSERT_FINITE : 'assert_finite' ;
EXPECT : 'expect' ;
IMPORT : 'import' ;
IN : 'in' ;
INPUT : 'input' ;
LAYER : 'layer' ;
LOCAL : 'local' ;
LOSS : 'loss' ;
METRIC : 'metric' ;
MODEL : 'model' ;
OP : 'op' ;
PARALLEL : 'parallel' ;
PARAM : 'param' ;
PIN : 'pin' ;
PRINT : 'print' ;
RECORD : 'record' ;
STATE : 'state' ;
TRAIN : 'train' ;
UPDATE : 'update' ;

WILDCARD : '_' ;
NAME : [A-Za-z_] [A-Za-z0-9_]* ;
PART : '.' NAME ;

// `0..depth` is a range: a float needs a digit after its dot.
INTEGER : DIGITS ;
FLOAT : DIGITS '.' DIGITS EXPONENT? | DIGITS EXPONENT ;
SIZE : DIGITS ( '.' DIGITS )? ( 'B' | [KMGT] 'i'? 'B' ) ;
TIME : DIGITS ( '.' DIGITS )? ( [num]? 's' ) ;
// Digits that run into letters and are none of the above, such as `40Gb`.
BAD_NUMBER : DIGITS ( '.' DIGITS )? [A-Za-z_] [A-Za-z0-9_]* ;
fragment DIGITS : [0-9] [0-9_]* ;
fragment EXPONENT : [eE] [+\-]? [0-9] [0-9_]* ;

STRING : '"' STRING_PART* '"' ;
// A string that its line ends first; one character shorter than STRING, so that a closed string is never taken for it.
OPEN_STRING : '"' STRING_PART* ;
fragment STRING_PART : ~["\\\n] | '\\' ~[\n] ;

ARROW : '->' ;
RANGE : '..' ;
EQUAL : '==' ;
NOT_EQUAL : '!=' ;
AND : '&&' ;
OR : '||' ;
NOT : '!' ;
LESS_EQUAL : '<=' ;
GREATER_EQUAL : '>=' ;
LESS : '<' ;
GREATER : '>' ;
ASSIGN : '=' ;
PLUS : '+' ;
MINUS : '-' ;
POWER : '**' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
HASH : '#' ;
COLON : ':' ;
SEMICOLON : ';' ;
COMMA : ',' ;
LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;

SPACE : [ \t\r\n]+ -> skip ;
COMMENT : ( '//' ~[\n]* | '/*' .*? '*/' ) -> channel(HIDDEN) ;
// A comment that the file ends first. Cannot run past `*/`, so that a closed comment is always longer.
OPEN_COMMENT : '/*' ( ~'*' | '*'+ ~[*/] )* '*'* -> channel(HIDDEN) ;
// Anything else; dsl/parse reports it, and the parser does not see it.
BAD_CHARACTER : . -> channel(HIDDEN) ;
