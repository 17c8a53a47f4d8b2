import { Global, Module } from '@nestjs/common';
import { RawSqlService } from './raw-sql.service.js';

/** Runs stored procedures through a TypeORM query runner. */
@Global()
@Module({ providers: [RawSqlService], exports: [RawSqlService] })
export class RawSqlModule {}
